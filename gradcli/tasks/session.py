"""`repl`: a program that grows, entry by entry.

An entry is run together with all entries before it, from fresh state, as the file would be that
`:save` writes; what was told of those before isn't told again. One that fails or is interrupted
isn't added, so that it changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from ..diagnostics import Diagnostic, GradcliError, Source
from ..engine.execution import Execution, Expectation, running
from ..lang import program
from ..lang.constants import CONSTANTS
from ..lang.lexer import RESERVED, STATEMENTS
from ..lang.parser import parse
from ..lang.results import result_names
from ..ops import BUILTINS
from .answer import Answer, prepare
from .check.checking import check
from .check.results import Check, CheckOptions
from .evaluate import evaluate
from .evaluation import Evaluation, Options
from .explanations import Answer as Explanations
from .programs import parse_program
from .second_runs import explain
from .traced import Traced
from .why import explain as explain_gradients

if TYPE_CHECKING:
    from .plot.plotting import Request
    from .plot.results import Plot

_OPENING, _CLOSING = "([{", ")]}"


@dataclass(slots=True)
class Told:
    """What is new with an entry: lines printed, values by name ("" for that of an expression),
    expectations and warnings."""

    printed: list[str] = field(default_factory=list)
    values: list[tuple[str, Any]] = field(default_factory=list)
    expectations: list[Expectation] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)


class Session:
    """The entries so far, and the program that they are.

    name     what messages call it: a file, whose folder its imports start at, or `<repl>`
    inputs   the values given from outside, for what the entries declare
    """

    def __init__(self, name: str, inputs: Mapping[str, Any], options: Options) -> None:
        self.name, self._inputs = name, inputs
        self._options = replace(options, ignore_extra=True)  # it may be declared later
        self._begin()

    def _begin(self) -> None:
        self.entries: list[str] = []
        self._node = self._parsed("")
        self._printed = self._expected = 0  # how many lines and expectations were told
        self._heard: set[tuple[Any, ...]] = set()  # and which warnings

    @property
    def text(self) -> str:
        """The program."""
        return "".join(entry + "\n" for entry in self.entries)

    @property
    def names(self) -> list[str]:
        """What the entries have named."""
        return list(self._node.names)

    def enter(self, entry: str) -> Told:
        """Runs an entry. Raises GradcliError for one that fails; then it is as if it had not been
        made."""
        before = self.text
        node = self._parsed(f"{before}{entry}\n")
        execution = Execution(prepare(node, self._options, alone=True), self._inputs)
        execution.execute()
        run = execution.run
        told = Told(run.printed[self._printed :], expectations=run.expectations[self._expected :])
        found = list(run.diagnostics)
        if run.unconnected:
            answer = Answer(execution, self._options)
            found += explain(node, self._inputs, self._options, answer, True)
        told.diagnostics = [d for d in found if _key(d) not in self._heard]
        told.values = self._values(entry, execution)
        self._printed, self._expected = len(run.printed), len(run.expectations)
        self._heard.update(map(_key, found))
        execution.release()
        self.entries.append(entry)
        self._node = node
        return told

    def _parsed(self, text: str) -> program.Program:
        return parse_program(Source(self.name, text), self._inputs, role="session")

    def _values(self, entry: str, execution: Execution) -> list[tuple[str, Any]]:
        """What the last statement of an entry makes, if it makes values."""
        names, last = result_names(parse(Source(self.name, entry)), "session")
        if not names and last is None:
            return []
        with running():
            values = {n: execution.host(value) for n, value in execution.results.items()}
        return [("" if last is not None else name, value) for name, value in values.items()]

    def undo(self) -> str:
        """Takes the last entry back, and returns it. Raises GradcliError where there is none."""
        if not self.entries:
            raise GradcliError(Diagnostic("E001", "there is nothing to undo"))
        *kept, last = self.entries
        self._begin()
        if kept:
            self.enter("\n".join(kept))
            self.entries = kept
        return last

    # ---- questions ----

    def gradients(self, of: tuple[str, ...], wrt: tuple[str, ...]) -> Evaluation:
        """The gradients of these values, or else of the last one, by these variables, or else by
        all."""
        options = replace(self._options, of=of, wrt=wrt)
        found = evaluate(self._node, self._inputs, options)
        found = replace(found, outputs={}, printed=[], expectations=[])
        return _without_discarded(found)

    def why(self, of: tuple[str, ...], wrt: tuple[str, ...]) -> Explanations:
        """Why these gradients are what they are."""
        options = replace(self._options, of=of, wrt=wrt)
        return _without_discarded(explain_gradients(self._node, self._inputs, options))

    def plot(self, of: tuple[str, ...], request: Request) -> Plot:
        """These values, or else the last one, over ranges of variables."""
        from .plot.plotting import plot

        return plot(self._node, self._inputs, replace(self._options, of=of), request)

    def trace(self, of: tuple[str, ...], wrt: tuple[str, ...]) -> Traced:
        """The operations between these variables and values."""
        from .trace import trace

        options = replace(self._options, of=of, wrt=wrt)
        return _without_discarded(trace(self._node, self._inputs, options))

    def check(self) -> Check:
        """Every gradient of the program against the methods of `check`."""
        options = CheckOptions(run=replace(self._options, mode="reverse"))
        return _without_discarded(check(self._node, self._inputs, options))


def _key(warning: Diagnostic) -> tuple[Any, ...]:
    """What tells a warning from others."""
    return warning.code, warning.message, warning.span and warning.span.start


Found = TypeVar("Found", Evaluation, Explanations, Check, Traced)


def _without_discarded(found: Found) -> Found:
    """An answer without the warnings about values that are thrown away: those of entries were
    shown."""
    found.diagnostics = [d for d in found.diagnostics if d.code != "W206"]
    return found


def is_open(text: str) -> bool:
    """Whether more lines belong to an entry: it has a bracket that isn't closed yet, or ends in an
    operator or a comma. An empty line ends the latter."""
    code = re.sub(r'"(?:\\.|[^"\\\n])*"?', '""', text)
    code = re.sub(r"#[^\n]*", "", code)
    if sum(code.count(c) for c in _OPENING) > sum(code.count(c) for c in _CLOSING):
        return True
    return re.search(r"(?:[-+*/%@=~<>,]|\b(?:and|or|not))[ \t]*\Z", code) is not None


def known_words() -> list[str]:
    """The words of the language, and the builtins."""
    return sorted({*RESERVED, *STATEMENTS, *CONSTANTS, *BUILTINS})
