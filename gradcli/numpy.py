"""NumPy's functions as tapes record them: every builtin of the table, by its name, on numbers,
arrays and lists of these.

    from gradcli import numpy as gnp
    gnp.logsumexp(x, axis = 0)

`gradcli ops` lists them. Those of NumPy's own names may be called on NumPy, too: `np.sin(x)` of a
`Value` comes here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .eager.arrays import call
from .eager.names import builtin, suggestion
from .ops import BUILTINS
from .ops.op import Op
from .ops.registry import load_packages


def __getattr__(name: str) -> Callable[..., Any]:
    op = None if name.startswith("_") else builtin(name)
    if op is None:
        raise AttributeError(f"no function {name!r}{suggestion(name)}")
    return _function(op)


def __dir__() -> list[str]:
    load_packages()
    return sorted(name for name in BUILTINS if builtin(name) is not None)


def _function(op: Op) -> Callable[..., Any]:
    def function(*arguments: Any, **options: Any) -> Any:
        return call(op, arguments, options)

    function.__name__ = function.__qualname__ = op.name
    note = f"\n\nConvention: {op.note}." if op.note else ""
    function.__doc__ = f"{op.name}({op.signature.text})\n\n{op.summary}{note}"
    return function
