"""Names that a program doesn't know: what is said of them, and what they mean elsewhere."""

from __future__ import annotations

from ..diagnostics import Report, Source, Span
from ..ops import BUILTINS, registry
from ..ops.elsewhere import PACKAGES, suggestion
from . import program, syntax
from .constants import CONSTANTS
from .flow import Frame, Journal
from .foreign import foreign_phrase

# a search for the closest name is dear; a file with more unknown names than this has another
# problem
MAX_SUGGESTIONS = 20


class UnknownNames:
    """The part of the resolver that reports names. `report` collects the errors, and `outputs` the
    names of the outputs."""

    source: Source
    report: Report
    frame: Frame
    outputs: Journal

    def registered_function(self, name: str, span: Span) -> program.Expression | None:
        """The function that another package has registered under a name that nothing else has."""
        op = registry.find(name)
        return None if op is None else program.Builtin(op, span=span)

    def unknown(self, name: str, span: Span, kind: str = "name") -> program.Expression:
        self.report.add(
            "E200", f"unknown {kind} `{name}`", span, help=self.suggestion(name, span, kind)
        )
        for message in registry.failures():
            if not any(d.message == message for d in self.report.diagnostics):
                self.report.add(
                    "E008",
                    message,
                    help="it was asked because a function is unknown; update or remove it",
                )
        return self.nothing(span)

    def suggestion(self, name: str, span: Span, kind: str = "name") -> str:
        """What an unknown name means in another language, or one in sight that it is close to."""
        if len(self.report.diagnostics) >= MAX_SUGGESTIONS:
            return ""
        if name in self.outputs:
            return f"only an output is called so: write `{name} = …` first, then `output {name}`"
        known = [*self.frame.scope.visible(), *BUILTINS, *CONSTANTS]
        found = suggestion(name, known, kind == "function")
        phrase = None if found else foreign_phrase(self.source, span.start)
        return found if phrase is None else phrase.help

    def required(self, slot: program.Slot, span: Span) -> program.Declare:
        """A free name of an expression file: a variable whose value must come from outside."""
        phrase = foreign_phrase(self.source, span.start) if "<-" in self.source.text else None
        meant = "" if phrase is None else f"{phrase.message}: {phrase.help}"
        return program.Declare("var", slot, None, None, None, meant, span=span)

    def nothing(self, span: Span) -> program.Constant:
        """Stands in where there was an error, so that the others are found too."""
        return program.Constant(None, span=span)

    def is_of_package(self, node: syntax.Member) -> bool:
        """Reports `np.linalg.norm`, where no name `np` is known."""
        inner: syntax.Expression = node
        while isinstance(inner, syntax.Member):
            inner = inner.object
        if not isinstance(inner, syntax.Name) or inner.name not in PACKAGES:
            return False
        if self.frame.scope.find(inner.name) or inner.name in BUILTINS:
            return False
        name = node.name
        known = f"write `{name}`" if name in BUILTINS or name in CONSTANTS else ""
        help = known or suggestion(name, BUILTINS, called=True)
        told = f"builtins need no package; {help}" if help else "builtins need no package"
        self.report.add("E200", f"unknown name `{inner.name}`", node.span, help=told)
        return True
