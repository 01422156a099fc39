"""Values from outside, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..diagnostics import Diagnostic, GradcliError

if TYPE_CHECKING:
    from ..lang.program import Program


class Inputs(dict[str, Any]):
    """The values that a command line gives. `refused` are columns of its table that are no inputs,
    as they hold text or lack values, with what is wrong: which matters to programs that declare
    such a name."""

    def __init__(self, values: Mapping[str, Any], refused: Mapping[str, Diagnostic]) -> None:
        super().__init__(values)
        self.refused = refused

    def verify(self, program: Program) -> None:
        """Raises GradcliError (E005) for a column that the program needs, and that is refused."""
        if left := self.refused.keys() - self.keys():
            from ..engine.analysis.declared import declared_names

            wrong = [self.refused[name] for name in declared_names(program) if name in left]
            if wrong:
                raise GradcliError(*wrong)
