"""What the compilation of a program carries from node to node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from .run import Settings

Closure: TypeAlias = Callable[[list[Any]], Any]


class Compiler:
    """Compiles for one choice of settings.

    keeps_all  for the second keeping policy of the trace: nothing may take a short cut around `apply`
    slow       whether scalars can't be Python floats, so that the short cuts would never be taken
    counts     whether every statement counts against `--max-steps`
    prefix     stands before the names of variables: `other.` in an imported program
    fusing     whether what is compiled is part of an expression that can be one function (`fusion.py`)
    declared   the slots of the top level that are declared: assigning to one may replace a variable
    in_function  whether what is compiled is inside a function
    asks       whether a function asks for gradients of values (`grad(y, x)`, a tape)
    parameters  the slots of the function being compiled that are its parameters
    """

    def __init__(
        self, settings: Settings, keeps_all: bool = False, imports: dict[int, Any] | None = None, prefix: str = ""
    ) -> None:
        self.imports = {} if imports is None else imports
        self.prefix = prefix
        self.declared: set[int] = set()
        self.fusing = False
        self.in_function = self.asks = False
        self.parameters: set[int] = set()
        self.settings = settings
        self.keeps_all = keeps_all
        self.slow = keeps_all or settings.dtype != "float64"
        self.counts = settings.max_steps is not None
