"""Which names can hold a function, as far as their assignments show."""

from __future__ import annotations

from typing import Any

from ..ops import BUILTINS
from . import syntax
from .scopes import Binding, Scope

_HOLDS_FUNCTIONS = frozenset(
    ["fn", "parameter", "for", "import", "module", "tape"]
)  # kinds of events
_NO_FUNCTIONS = frozenset(  # no result is one
    ["range", "enumerate", "zip", "append", "len", "array", "detach", "stop_gradient", "backward"]
)


# Expressions whose value can be anything: a function, a variable.
HOLDS_ANYTHING = (
    syntax.Name
    | syntax.Member
    | syntax.Index
    | syntax.Call
    | syntax.Conditional
    | syntax.ListDisplay
)


def could_be_function(binding: Binding, scope: Scope) -> bool:
    """Whether a name that `scope` sees can hold something to call, as far as its assignments
    show."""
    if binding.could_be_function is None:
        binding.could_be_function = any(
            event.kind in _HOLDS_FUNCTIONS
            or (event.kind in ("assign", "const") and _may_call(event.node.value, scope))
            for event in binding.events
        )
    return binding.could_be_function


def _may_call(value: Any, scope: Scope) -> bool:
    if isinstance(value, syntax.Call):
        callee = value.callee
        if isinstance(callee, syntax.Name | syntax.Member):
            op, own = BUILTINS.get(callee.name), scope.find(callee.name)
            if own is not None and not own.kinds.isdisjoint(_HOLDS_FUNCTIONS):
                return True  # the program's own of that name
            return op is None or (op.engine and op.name not in _NO_FUNCTIONS)
        return True
    return isinstance(value, HOLDS_ANYTHING | syntax.Function)
