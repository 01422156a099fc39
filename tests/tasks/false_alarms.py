"""The campaign for false alarms: it checks random programs whose gradients are right.

Run as a program (`python -m tests.tasks.false_alarms --seed S --programs N`) it checks them with
SymPy and without, names those that are reported wrong, and says what share of the gradients is
verified and what share undecided.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import time
from collections import Counter
from typing import NamedTuple

from gradcli.diagnostics import Source
from gradcli.tasks.check.checking import check
from gradcli.tasks.check.results import METHODS, WRONG, Check, CheckOptions
from gradcli.tasks.programs import parse_program

from .right_programs import Program, programs


def checked(program: Program, sympy: bool) -> Check:
    """A check of it."""
    methods = tuple(method for method in METHODS if sympy or method != "sympy")
    node = parse_program(Source("<random>", program.text))
    return check(
        node, {}, CheckOptions(methods=methods, points=program.points, order=program.order)
    )


def alarms(found: Check) -> list[str]:
    """What a check reports as wrong, in words."""
    told = []
    for result in found.results:
        if result.verdict == WRONG:
            told += [
                f"{f.output} by {f.variable}{f.where} order {f.order} at point {f.point}: {f.method} {f.verdict} {f.reason}: "
                f"ours {f.ours!r}, theirs {f.theirs!r}, error {f.error:.1g}, tolerance {f.tolerance:.1g}"
                for f in result.findings
            ]
    return told


class Seen(NamedTuple):
    """What came of one check: how many gradients have each verdict, what SymPy said, and the false
    alarms."""

    verdicts: Counter[str]
    sympy: Counter[str]
    told: list[str]


def seen(program: Program, sympy: bool) -> Seen:
    found = checked(program, sympy)
    verdicts = Counter(result.verdict for result in found.results)
    said = Counter(
        f.verdict for result in found.results for f in result.findings if f.method == "sympy"
    )
    return Seen(verdicts, said, alarms(found))


def within(seconds: int, program: Program, sympy: bool) -> Seen | None:
    """The same in a process of its own; None where it takes more processor time, as SymPy may."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(False)

    def work() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        theirs.send(seen(program, sympy))

    process = context.Process(target=work)
    process.start()
    theirs.close()
    try:
        found: Seen | None = ours.recv()
    except EOFError:  # it was ended
        found = None
    process.join()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--statements", type=int, default=5, help="of a program at most")
    parser.add_argument(
        "--patience", type=int, default=20, help="seconds of processor time for a check"
    )
    chosen = parser.parse_args()
    began, wrong = time.monotonic(), 0
    checked(
        Program("var x = 0.5\noutput q = gamma(x)", 0, 2), True
    )  # what takes long to load is there for all processes
    ways = {True: "with SymPy", False: "without SymPy"}
    verdicts: dict[bool, Counter[str]] = {sympy: Counter() for sympy in ways}
    said: Counter[str] = Counter()
    for number, program in enumerate(programs(chosen.seed, chosen.programs, chosen.statements)):
        if number and number % 50 == 0:
            print(
                f"{number} programs, {wrong} checks with a false alarm, {time.monotonic() - began:.0f} s",
                flush=True,
            )
        for sympy, way in ways.items():
            found = within(chosen.patience, program, sympy)
            if found is None:
                verdicts[sympy]["in checks that took too long"] += 1
                print(
                    f"---- program {number} of seed {chosen.seed}, {way}: takes too long",
                    program.text,
                    sep="\n",
                    flush=True,
                )
                continue
            verdicts[sympy] += found.verdicts
            said += found.sympy
            if found.told:
                wrong += 1
                print(
                    f"---- program {number} of seed {chosen.seed}, {way}",
                    program.text,
                    *found.told,
                    sep="\n",
                    flush=True,
                )
    for sympy, way in ways.items():
        total = sum(verdicts[sympy].values()) or 1
        shares = ", ".join(
            f"{name} {count} ({count / total:.1%})" for name, count in verdicts[sympy].most_common()
        )
        print(f"gradients {way}: {shares}")
    print(f"SymPy: {dict(said)}")
    print(
        f"{chosen.programs} programs, {wrong} checks with a false alarm, {time.monotonic() - began:.0f} s"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
