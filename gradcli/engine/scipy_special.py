"""SciPy's special functions, without the package around them, which takes ten times as long to load.

`scipy.special` loads SciPy's adapters for other array libraries, and for these NumPy's test suite and its wrapper of Fortran. The
functions themselves are in one compiled module, which is loaded here by itself.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
from functools import cached_property
from types import ModuleType
from typing import Any

from .blas import blas_advised

_PACKAGE = "scipy.special"
_COMPILED = f"{_PACKAGE}._ufuncs"
_ALIASES = {"digamma": "psi"}  # names that the package itself gives to functions of the compiled module


class SpecialFunctions:
    """The functions of `scipy.special` by name: those of the compiled module, and from the package what isn't there."""

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._compiled, _ALIASES.get(name, name), None)
        if function is None:
            with blas_advised():
                function = getattr(importlib.import_module(_PACKAGE), name)
        setattr(self, name, function)  # the next time it is an attribute like any other
        return function

    @cached_property
    def _compiled(self) -> ModuleType | None:
        """The compiled module; None where it isn't to be had by itself."""
        if _PACKAGE in sys.modules or threading.active_count() > 1:  # others may be about to import the package
            return None
        try:
            with blas_advised():
                return _loaded_alone()
        except (ImportError, AttributeError):  # a SciPy that is laid out otherwise
            return None


def _loaded_alone() -> ModuleType:
    """The compiled module, for which an empty package stands in while it is loaded. Nothing of that is left: who imports the
    package later on gets it whole, with the same functions."""
    scipy = importlib.import_module("scipy")
    package = sys.modules[_PACKAGE] = ModuleType(_PACKAGE)
    package.__path__ = [os.path.join(folder, "special") for folder in scipy.__path__]
    try:
        return importlib.import_module(_COMPILED)
    finally:
        for name in [n for n in sys.modules if n == _PACKAGE or n.startswith(f"{_PACKAGE}.")]:
            del sys.modules[name]
