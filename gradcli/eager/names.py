"""Names outside of programs: which entry of the table a name of gradcli or of NumPy means."""

from __future__ import annotations

from ..diagnostics import did_you_mean
from ..engine.backends.backend import CPU
from ..ops import ALIASES, OPS, registry
from ..ops.op import Op
from .session import fail

_OF_HISTORY = frozenset(
    ("detach", "stop_gradient", "array")
)  # engine builtins that are about values


def builtin(name: str) -> Op | None:
    """The entry that is a function here: all builtins, but those that are about functions and lists
    of the language."""
    op = registry.find(name)
    is_function = (
        op is not None and (not op.engine or name in _OF_HISTORY) and op.category != "random"
    )
    return op if is_function else None


def of_numpy(name: str) -> Op:
    """The entry that a function of NumPy is."""
    op = next((op for op in OPS.values() if op.primitive == name), None) or builtin(
        ALIASES.get(name, name)
    )
    if op is None:
        help = (
            "take `x.value` where no gradient is wanted; `gradcli.register` adds functions with "
            "their derivatives"
        )
        fail("E308", f"NumPy's `{name}` has no derivatives here", help)
    return op


def suggestion(name: str) -> str:
    text = f"did you mean `{ALIASES[name]}`?" if name in ALIASES else did_you_mean(name, OPS)
    if not text and hasattr(CPU.ndarray, name):
        text = "`x.value` is the plain number or array"
    return f"; {text}" if text else ""
