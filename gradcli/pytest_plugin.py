"""The pytest plugin: `pytest samples/` collects `.tg` files, an item an expectation and one a
gradient.

Failures are shown in the program's source. An expectation that wasn't executed, a gradient that no
method can judge, and a program whose inputs come from outside are skipped, and say why. What fails
in a program and belongs to none of its items, such as an output without a gradient that is nan,
fails all of them; a program of which nothing is verified fails.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .diagnostics import Diagnostic
    from .tasks.check.results import Check


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    return ProgramFile.from_parent(parent, path=file_path) if file_path.suffix == ".tg" else None


class FailedError(Exception):
    """An expectation or a gradient is wrong, or the program: holds what there is to say."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__(*diagnostics)
        self.diagnostics = diagnostics


class ProgramFile(pytest.File):
    """One program. It is checked once, by the first of its items that runs."""

    _check: Check | None = None
    node: Any = None
    pairs: set[tuple[str, str]]

    def collect(self) -> Iterator[pytest.Item]:
        from .diagnostics import GradcliError
        from .tasks.check.checking import derivatives_of
        from .tasks.programs import expected_lines, parse_program, read_source

        try:
            self.node = parse_program(read_source(self._shown()))
            pairs = derivatives_of(self.node)
        except GradcliError as error:
            yield BrokenItem.from_parent(self, name="program", diagnostics=error.diagnostics)
            return
        self.pairs = set(pairs)
        lines = expected_lines(self.node)
        for line in lines:
            yield ExpectationItem.from_parent(self, name=f"expect:{line}", line=line)
        for output, variable in pairs:
            name = f"d {output}/d {variable}" if variable else output
            yield GradientItem.from_parent(self, name=name, output=output, variable=variable)
        if not (lines or pairs):
            yield WholeItem.from_parent(self, name="program")

    def _shown(self) -> str:
        """The path as messages show it: from where pytest was started."""
        relative = os.path.relpath(self.path)
        return str(self.path) if relative.startswith("..") else relative

    def check(self) -> Check:
        from .report.checks import problem_of
        from .tasks.check.checking import check
        from .tasks.check.results import CheckOptions, in_ci

        if self._check is None:
            self._check = check(self.node, {}, CheckOptions(strict=in_ci()))
        found = self._check
        others = [
            problem_of(found, r) for r in found.results if (r.output, r.variable) not in self.pairs
        ]
        errors = [
            d
            for d in (*found.diagnostics, found.nothing, *others)
            if d is not None and d.severity == "error"
        ]
        if errors:
            raise FailedError(*errors)
        return found


class ProgramItem(pytest.Item):
    """What is asked of a program."""

    line = 1

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.line - 1, f"{self.path.name}: {self.name}"

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        from .diagnostics import GradcliError, printable_lines, render

        if isinstance(excinfo.value, (FailedError, GradcliError)):
            return printable_lines("\n".join(map(render, excinfo.value.diagnostics)))
        return super().repr_failure(excinfo, style)


class BrokenItem(ProgramItem):
    """A program that can't be run."""

    def __init__(self, *, diagnostics: list[Diagnostic], **keywords: Any) -> None:
        super().__init__(**keywords)
        self.diagnostics = diagnostics
        self.line = diagnostics[0].span.line if diagnostics[0].span else 1

    def runtest(self) -> None:
        if all(d.code == "E004" for d in self.diagnostics):
            pytest.skip(self.diagnostics[0].message)
        raise FailedError(*self.diagnostics)


class WholeItem(ProgramItem):
    """A program without expectations and gradients; one without variables, which others import, has
    nothing to verify."""

    parent: ProgramFile

    def runtest(self) -> None:
        if not self.parent.check().declares:
            pytest.skip("it declares no variable, so that there is nothing to verify")


class ExpectationItem(ProgramItem):
    """One `expect`: it holds each time it is executed."""

    parent: ProgramFile

    def __init__(self, *, line: int, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.line = line

    def runtest(self) -> None:
        executed = [e for e in self.parent.check().expectations if e.line == self.line]
        if not executed:
            pytest.skip("not on the path that was taken")
        failed = [e.diagnostic for e in executed if e.diagnostic is not None]
        if failed:
            raise FailedError(*failed[:5])


class GradientItem(ProgramItem):
    """The gradient of one output by one variable, against every method that applies; or, without a
    variable, the derivatives that the program itself asks for."""

    parent: ProgramFile

    def __init__(self, *, output: str, variable: str, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.output, self.variable = output, variable

    def runtest(self) -> None:
        from .report.checks import problem_of

        check = self.parent.check()
        result = next(
            (r for r in check.results if (r.output, r.variable) == (self.output, self.variable)),
            None,
        )
        if result is None:
            pytest.skip("there is no such derivative on the path that was taken")
        problem = problem_of(check, result)
        if problem is not None:
            self.line = problem.span.line if problem.span else self.line
            raise FailedError(problem)
        if result.verdict in ("undecided", "allowed"):
            pytest.skip("; ".join(result.reasons))
