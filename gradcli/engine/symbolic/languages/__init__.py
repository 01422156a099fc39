"""The languages that closed forms are written in: one file each, a SymPy printer with what it has
to say differently.

language = load("c", names={x: "x", w0: "w[0]"})
language.expression(form)    # "pow(x, 2) + sin(w[0])"; UnwritableError where C has no words for it
language.function(...)       # a function of it, `language.file(...)` a module of functions
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

LANGUAGES = ("python", "numpy", "c", "fortran", "julia", "rust")


def load(to: str, names: Mapping[Any, str]) -> Any:
    """Loads one of LANGUAGES; `names` says what each symbol is called in its text."""
    return import_module(f".{to}", __name__).Language(names)
