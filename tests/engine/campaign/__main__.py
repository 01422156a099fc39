"""`python -m tests.engine.campaign --seed S --programs N`: a long campaign; each disagreement with
its program."""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from .running import Disagreement, compared

EVERY = 500  # programs, after which the counts so far are told


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.engine.campaign", description=__doc__)
    parser.add_argument(
        "--seed", type=int, default=0, help="of the first program; each has the next one"
    )
    parser.add_argument("--programs", type=int, default=1000, help="how many")
    parser.add_argument("--brief", action="store_true", help="without the texts of programs")
    parser.add_argument("--wide", action="store_true", help="with values of all kinds")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    for done in range(1, options.programs + 1):
        seed = options.seed + done - 1
        for found in compared(seed, counts, options.wide):
            _tell(seed, found, options.brief)
        if done % EVERY == 0 or done == options.programs:
            told = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
            print(f"{done} programs from seed {options.seed}: {told}", flush=True)
    return 1 if counts["disagreements"] else 0


def _tell(seed: int, found: Disagreement, brief: bool) -> None:
    print(f"seed {seed}, {found.way}, row {found.point}: {found.what}", flush=True)
    if not brief:
        print(f"{found.text}\n{'-' * 100}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
