"""Jobs as processes of their own, quick to start: forked from one that has everything loaded
already."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.tasks.batch.steps import Death, watch

ROOT = str(Path(__file__).parents[3])
# Where a process finds this module; behind all else, so that it finds the package that is tested.
if ROOT not in sys.path:
    sys.path.append(ROOT)
_CONTEXT = multiprocessing.get_context("forkserver")
_LOADED = """
gradcli.cli.app gradcli.cli.batch gradcli.report.batch gradcli.lang.parser gradcli.tasks.programs gradcli.tasks.batch.job
gradcli.rows.reading.csv gradcli.rows.writing.csv gradcli.rows.writing.jsonl gradcli.rows.writing.parquet
gradcli.rows.writing.arrow gradcli.rows.writing.npz gradcli.rows.writing.npy pandas
"""  # pyarrow loads pandas where it is installed
_CONTEXT.set_forkserver_preload(_LOADED.split())

PATIENCE = 240  # seconds until a process counts as hanging, while others may use all processors


class Process:
    """`gradcli ARGUMENTS` in a folder, with what it prints in files there.

    dies     at which change to the file system it kills itself; these are counted, and named in the
             file `steps`
    largest  bytes that a file may have at most, as on a full disk
    given    what it has on standard input
    to       where standard output goes; or `closed`: nobody reads it
    """

    def __init__(self, folder: Path, arguments: Sequence[str], **how: Any) -> None:
        self.folder = folder
        self._process = _CONTEXT.Process(
            target=_run, args=(str(folder), list(arguments)), kwargs=how
        )
        self._process.start()

    def wait(self, timeout: float = PATIENCE) -> int:
        """The exit code; the number of the signal, negative, where one ended it."""
        self._process.join(timeout)
        code = self._process.exitcode
        assert code is not None, f"it still runs after {timeout} seconds"
        return code

    @property
    def has_ended(self) -> bool:
        return not self._process.is_alive()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def kill(self, number: int = signal.SIGKILL) -> None:
        with contextlib.suppress(ProcessLookupError):  # it has just ended by itself
            os.kill(self.pid, number)

    def wait_for(self, condition: Callable[[], bool], timeout: float = PATIENCE) -> None:
        """Until the condition holds, or the process has ended."""
        end = time.monotonic() + timeout
        while not condition() and not self.has_ended:
            assert time.monotonic() < end
            time.sleep(0.001)

    @property
    def err(self) -> str:
        return (self.folder / "stderr").read_text()

    @property
    def out(self) -> str:
        return (self.folder / "stdout").read_text()


def run(folder: Path, arguments: Sequence[str], **how: Any) -> Process:
    """The process, when it has ended."""
    process = Process(folder, arguments, **how)
    process.wait()
    return process


def _run(
    folder: str,
    arguments: list[str],
    dies: Death | None = None,
    largest: int | None = None,
    given: bytes = b"",
    to: str = "stdout",
    closed: bool = False,
) -> None:
    """What the process does."""
    os.chdir(folder)
    for stream, name in ((1, to), (2, "stderr")):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), stream)
    Path("stdin").write_bytes(given)
    os.dup2(os.open("stdin", os.O_RDONLY), 0)
    if closed:
        reader, writer = os.pipe()
        os.close(reader)
        os.dup2(writer, 1)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", 1)  # noqa: SIM115 - as long as the process
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which the fork server ignores
    if dies is not None:
        watch(dies)
    if largest is not None:
        sys.dont_write_bytecode = True  # of which there would be half a file
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
    from gradcli.cli import run

    code = run(arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # as the end of an interpreter does, whatever daemon threads do


def journal(out: Path) -> list[dict[str, Any]]:
    """The blocks that a job has finished."""
    return blocks_of(out.with_name(out.name + ".partial") / "journal.jsonl")


def blocks_of(path: Path) -> list[dict[str, Any]]:
    """The blocks in a journal, none where there is no such file."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:  # a job may be moving it away at this moment
        data = b""
    lines = [json.loads(line) for line in data[: data.rfind(b"\n") + 1].splitlines()[1:]]
    return [line for line in lines if "whole" not in line]


def report(folder: Path) -> Any:
    return json.loads((folder / "report.json").read_text())


def told(done: Process) -> list[str]:
    """The headlines of what it said."""
    return [line for line in done.err.splitlines() if line.startswith(("error", "warning"))]
