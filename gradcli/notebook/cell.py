"""The cell magic: runs the program that a cell is."""

from __future__ import annotations

from typing import Any

from ..api import Program
from ..diagnostics import Diagnostic, GradcliError, Source, printable_lines, render
from ..tasks.evaluation import Evaluation
from ..tasks.programs import parse_program
from .request import Request, parse_request
from .variables import inputs_of, values_of


class CellError(GradcliError):
    """An error of a cell, which IPython shows as gradcli does, without Python's traceback."""

    color = True

    def _render_traceback_(self) -> list[str]:
        return [printable_lines(render(d, self.color), self.color) for d in self.diagnostics]


class CellInterrupt(KeyboardInterrupt):
    """Ctrl-C in a cell, or the notebook's button, without Python's traceback."""

    def _render_traceback_(self) -> list[str]:
        return ["the program was interrupted"]


class CellMagic:
    """`%%gradcli`: the cell is a program."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell

    def __call__(self, line: str, cell: str) -> Evaluation | None:
        """Run this cell as a program of gradcli, and give its values and gradients.

        `%%gradcli NAME` keeps the result in a Python variable. `--set x=value` takes an input from
        a Python variable, a constant expression or `@FILE`; `--set x` from the variable `x`.
        `--get y` and `--get g=dy/dx` give outputs and gradients to Python variables. `--program f`
        keeps the program, for `f.run(x=3.0)`, and doesn't run it. Other options are those of
        `gradcli eval`.
        """
        try:
            return self._run(parse_request(line), cell)
        except GradcliError as error:
            raise self._error(error.diagnostics) from None
        except KeyboardInterrupt:
            raise CellInterrupt from None

    def _run(self, request: Request, cell: str) -> Evaluation | None:
        namespace = self.shell.user_ns
        inputs = inputs_of(request.sets, namespace)
        # an empty line for the first one of the cell: lines have the numbers that a notebook shows
        source = Source("<cell>", "\n" + cell)
        program = Program(parse_program(source, inputs), request.options)
        if request.program:
            namespace[request.program] = program
            return None
        evaluation = self._evaluation(program, inputs)
        for text in evaluation.printed:
            print(printable_lines(text))
        got = values_of(request.gets, evaluation)
        namespace.update(got | ({request.name: evaluation} if request.name else {}))
        failed = [e.diagnostic for e in evaluation.expectations if e.diagnostic is not None]
        if failed:
            self._show(evaluation)
            raise GradcliError(*failed)
        return None if request.quiet else evaluation

    def _evaluation(self, program: Program, inputs: dict[str, Any]) -> Evaluation:
        try:
            return program.run(inputs)
        except GradcliError as error:
            for text in getattr(error, "evaluation", Evaluation("")).printed:
                print(printable_lines(text))  # what was printed before it failed
            raise

    def _show(self, evaluation: Evaluation) -> None:
        from IPython.display import display

        display(evaluation)  # type: ignore[no-untyped-call, unused-ignore]

    def _error(self, diagnostics: list[Diagnostic]) -> CellError:
        error = CellError(*diagnostics)
        error.color = str(getattr(self.shell, "colors", "")).lower() != "nocolor"
        return error
