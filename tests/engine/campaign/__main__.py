"""`python -m tests.engine.campaign --seed S --programs N`: a long campaign; each disagreement with
its program. `--reduce S`: the small program that the disagreement of a seed comes down to."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator

from . import running, small_ways
from .small import SmallWriter

MEMORY = 2**33  # bytes that a campaign may take
EVERY = 500  # programs, after which the counts so far are told


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.engine.campaign", description=__doc__)
    parser.add_argument(
        "--seed", type=int, default=0, help="of the first program; each has the next one"
    )
    parser.add_argument("--programs", type=int, default=1000, help="how many")
    parser.add_argument("--brief", action="store_true", help="without the texts of programs")
    parser.add_argument(
        "--kind",
        choices=["small", "rows", "wide"],
        default="small",
        help="small programs, in all tiers and modes; programs of rows of data, of numbers or with "
        "values of all kinds",
    )
    parser.add_argument("--every", action="store_true", help="each small program in every way")
    parser.add_argument("--reduce", type=int, metavar="SEED", help="of a small program")
    options = parser.parse_args()
    _limit_memory()
    if options.reduce is not None:
        return _reduce(options.reduce)
    counts: Counter[str] = Counter()
    for done in range(1, options.programs + 1):
        seed = options.seed + done - 1
        for told, text in _found(options, seed, counts):
            print(f"seed {seed}, {told}", flush=True)
            if not options.brief:
                print(f"{text}\n{'-' * 100}", flush=True)
        if done % EVERY == 0 or done == options.programs:
            told = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
            print(f"{done} programs from seed {options.seed}: {told}", flush=True)
    return 1 if counts["disagreements"] else 0


def _limit_memory() -> None:
    """Some programs ask for more than there is, as by a vmap in a recursion, and are told so."""
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _found(
    options: argparse.Namespace, seed: int, counts: Counter[str]
) -> Iterator[tuple[str, str]]:
    """What is told of each disagreement of a seed, and its program."""
    if options.kind == "small":
        for differed in small_ways.compared(seed, counts, options.every):
            yield f"{differed.way.name}: {differed.what}", differed.text
    else:
        for found in running.compared(seed, counts, options.kind == "wide"):
            yield f"{found.way}, row {found.point}: {found.what}", found.text


def _reduce(seed: int) -> int:
    text = SmallWriter(seed).program()
    for way, what in small_ways.differences(text, small_ways.WAYS, Counter()):
        print(f"# seed {seed}, {way.name}: {what}")
        print(small_ways.smallest(text, way))
        return 1
    print(f"# seed {seed}: all ways agree")
    return 0


if __name__ == "__main__":
    sys.exit(main())
