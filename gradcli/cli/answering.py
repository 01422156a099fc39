"""Commands that answer for one program after another, and tell all answers at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from ..diagnostics import Diagnostic, GradcliError
from ..report import Style
from . import given, limits, output
from .faults import contained
from .programs import programs
from .terminal import Terminal

if TYPE_CHECKING:
    from ..tasks.evaluation import Options


class Answer(Protocol):
    """What a command says of one program."""

    diagnostics: list[Diagnostic]

    @property
    def exit_code(self) -> int: ...


A = TypeVar("A", bound=Answer)
Answers = Callable[[Any, Mapping[str, Any], "Options"], A]


class Job(Generic[A]):
    """One call of such a command: the answers so far, and how they are told.

    answers  answers for a program; an error in the text of one comes before it is called
    rejects  the answer for a program, by name, that errors have ended
    renders  all answers as text
    path     where this goes; None for standard output
    """

    def __init__(
        self,
        answers: Answers[A],
        rejects: Callable[[str, list[Diagnostic]], A],
        renders: Callable[[list[A], Style], str],
        terminal: Terminal,
        precision: int | None,
        path: str | None,
    ) -> None:
        self.answers, self.rejects, self.renders = answers, rejects, renders
        self.terminal, self.path = terminal, path
        self.style = terminal.style(path, precision)
        self.found: list[A] = []
        self.current = ""

    def run(
        self,
        files: list[str] | None,
        expr: str | None,
        wanted: Options,
        timeout: float | None,
        set_: list[str] | None,
        inputs: str | None,
    ) -> int:
        """Answers for all programs; returns the exit code."""
        try:
            names = programs(files, expr)
            seconds = limits.parse_timeout(timeout)
            with limits.limited(seconds, wanted.max_memory, self.fail, wanted.device):
                values = given.values(set_, inputs, files)
                for name in names:
                    self.answer(name, expr, values, wanted)
        except GradcliError as error:
            return self.fail(*error.diagnostics)
        return self.tell()

    def answer(
        self, name: str, expr: str | None, values: Mapping[str, Any], wanted: Options
    ) -> None:
        """Answers for one program; what is wrong with it is part of its answer. A limit ends the
        job."""
        from ..tasks.programs import parse_program, program_source

        self.current = name
        try:
            with contained(name):
                source = program_source(name, expr)
                self.current = source.name
                self.found.append(self.answers(parse_program(source, values), values, wanted))
        except GradcliError as error:
            if error.exit_code == 4:
                raise
            self.found.append(self.rejects(self.current, error.diagnostics))

    def fail(self, *errors: Diagnostic) -> int:
        """Ends the job early with these errors of the program that was running, or of the command
        line."""
        self.found.append(self.rejects(self.current, list(errors)))
        return self.tell()

    def tell(self) -> int:
        """Prints everything, answers first; returns the exit code."""
        try:
            if text := self.renders(self.found, self.style):
                output.write(text, self.path, self.style.color)
        finally:
            for diagnostic in (d for answer in self.found for d in answer.diagnostics):
                self.terminal.diagnostic(diagnostic)
        return max((answer.exit_code for answer in self.found), default=0)
