"""Facts that follow from the text of a program. Each is worked out when it is first needed, and
kept."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Any

from ...diagnostics import Diagnostic
from ...lang import program
from .asked_variables import asks_by_variables
from .declared import declared_names
from .derivative_flow import (
    asks_for_nothing,
    declared_variables,
    differentiates_once,
    has_elements,
    has_few_elements,
    is_scalar,
    outputs_of_variables,
)
from .discarded import discarded
from .nodes import Nodes
from .requests import is_request, named_outputs, requested_outputs


class Facts:
    """The facts of one program."""

    def __init__(self, node: program.Program) -> None:
        self._node = node

    @cached_property
    def _nodes(self) -> Nodes:
        return Nodes(self._node)

    @cached_property
    def declares(self) -> frozenset[str]:
        """The names that values from outside may be given for."""
        return frozenset(declared_names(self._node))

    @cached_property
    def asks_for_nothing(self) -> bool:
        """Whether the program neither asks for a derivative nor says what is recorded."""
        return asks_for_nothing(self._nodes)

    @cached_property
    def asks_by_variables(self) -> bool:
        """Whether the program asks for no derivatives of values but by variables."""
        return asks_by_variables(self._nodes)

    @cached_property
    def asks_by_builtins(self) -> bool:
        """Whether the program calls a builtin that asks for a derivative."""
        return any(is_request(item.op) for item in self._nodes.all(program.Apply))

    @cached_property
    def has_elements(self) -> bool:
        """Whether the program reads or writes elements."""
        return has_elements(self._nodes)

    @cached_property
    def requested(self) -> set[str]:
        """The outputs that are requests for derivatives."""
        return requested_outputs(self._node)

    @cached_property
    def not_requested(self) -> set[str]:
        """The other outputs: these get a gradient unasked."""
        return {name for name, _ in named_outputs(self._node)} - self.requested

    @cached_property
    def of_variables(self) -> set[str]:
        """The outputs that may be computed from variables."""
        return outputs_of_variables(self._node)

    @cached_property
    def discarded(self) -> list[Diagnostic]:
        """Warnings of values that are computed and thrown away."""
        return discarded(self._node)

    @cached_property
    def _variables(self) -> list[program.Declare] | None:
        return declared_variables(self._nodes)

    def scalar_variables(self, inputs: Mapping[str, Any]) -> list[str] | None:
        """The names of the variables, if all are scalars as far as the text and the values from
        outside show; else None, as where modules declare some: there may be any number of
        instances."""
        found = self._variables
        return (
            [d.slot.name for d in found]
            if found is not None and all(is_scalar(d, inputs) for d in found)
            else None
        )

    @cached_property
    def has_few_elements(self) -> bool:
        """Whether all variables have few elements each, as far as the text shows."""
        return self._variables is not None and all(map(has_few_elements, self._variables))

    def differentiates_once(self, targets: Collection[str] | None = None) -> bool:
        """Whether nothing that a derivative gave is ever differentiated again; `targets`: what
        derivatives are asked of from outside, None for all outputs."""
        return differentiates_once(self._nodes, targets)
