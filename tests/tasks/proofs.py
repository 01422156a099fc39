"""What tests of proofs read off a check: the verdict on each variable, and codes of problems."""

from __future__ import annotations

from gradcli.report.checks import problem_of
from gradcli.tasks.check.results import Check

WRONG = "fn f(x) { return x**2 } backward (dy) { return 5 * x * dy }\n"


def verdicts(found: Check) -> dict[str, str]:
    return {result.variable: result.verdict for result in found.results}


def codes(found: Check) -> list[str]:
    problems = [problem_of(found, result) for result in found.results]
    return [problem.code for problem in problems if problem is not None]
