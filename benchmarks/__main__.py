"""`python -m benchmarks [NAME…] [--runs N] [--json FILE]`."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
from pathlib import Path

# Set before anything is imported that reads them.
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NPROC": "1",  # XLA's
    "JAX_PLATFORMS": "cpu",
    "JAX_ENABLE_X64": "1",
}
NOTHING_KEPT = {"GRADCLI_CACHE_DIR": "none"}  # compiling is measured, too
NAMES = sorted(path.stem for path in (Path(__file__).parent / "workloads").glob("[a-z]*.py"))


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measures gradcli side by side with its peers."
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"workloads: {', '.join(NAMES)} (default: all)"
    )
    parser.add_argument(
        "--runs", type=int, default=7, metavar="N", help="rounds that are timed (default: 7)"
    )
    parser.add_argument("--json", metavar="FILE", help="write all timings and figures there too")
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in NAMES:
            parser.error(f"no workload {name!r}; there are {', '.join(NAMES)}")
    wanted = (
        ONE_THREAD | NOTHING_KEPT | ({"JAX_PLATFORMS": ""} if arguments.names == ["gpu"] else {})
    )
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        if hasattr(os, "sched_setaffinity"):  # what can't be told by a variable
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        command = [sys.executable, "-m", "benchmarks", *sys.argv[1:]]
        os.execve(sys.executable, command, os.environ | wanted)

    from gradcli.engine.backends.backend import CPU

    # NumPy as gradcli loads it, for all that use it here: with the same memory and the same kernels
    _ = CPU.xp
    from .runner import run, show

    outcomes = []
    print(
        (
            f"Python {platform.python_version()} on {platform.machine()}, one thread, medians of "
            f"{arguments.runs} rounds\n"
        ),
        flush=True,
    )
    for name in arguments.names or NAMES:
        for workload in importlib.import_module(f".workloads.{name}", __package__).WORKLOADS:
            if why := workload.lacks():
                print(f"{workload.name}: skipped: {why}\n", flush=True)
                continue
            outcomes.append(run(workload, arguments.runs))
            print(show(outcomes[-1]), flush=True)
    if arguments.json:
        Path(arguments.json).write_text(
            json.dumps([o.as_json() for o in outcomes], indent=1) + "\n", encoding="utf-8"
        )
    return 1 if any(o.disagreements for o in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
