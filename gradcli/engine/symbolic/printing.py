"""Closed forms for people: as SymPy writes them in a line, in two dimensions, and for LaTeX."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import sympy

from .algebra import as_number
from .calculus import each


def text(form: Any) -> Any:
    """The form in one line, as SymPy reads it: in lists where the form is an array, and as it is
    where it isn't one."""
    return nested(form, str)


def pretty(form: Any) -> str:
    """The form in two dimensions, of several lines."""
    return str(sympy.pretty(each(_renamed, _whole(form)), use_unicode=True, wrap_line=False))


def latex(form: Any) -> Any:
    return nested(form, lambda part: str(sympy.latex(_renamed(part))))


def nested(form: Any, write: Any) -> Any:
    """Writes each scalar form, in lists where there is an array; strings in quotes, so that they
    aren't taken for forms."""
    if isinstance(form, np.ndarray):
        return [nested(item, write) for item in form]
    if isinstance(form, list):
        return [nested(item, write) for item in form]
    if isinstance(form, dict):
        return {key: nested(item, write) for key, item in form.items()}
    return (
        write(form)
        if isinstance(form, sympy.Basic)
        else quoted(form)
        if isinstance(form, str)
        else form
    )


def quoted(text: str) -> str:
    """A string as it is written in a program."""
    return json.dumps(text, ensure_ascii=False)


def _whole(form: Any) -> Any:
    """Converts an array to SymPy's, and the items of a list or dict."""
    if isinstance(form, np.ndarray):
        numbers = each(as_number, form).tolist()
        return sympy.Matrix(numbers) if form.ndim < 3 else sympy.Array(numbers)
    if isinstance(form, list):
        return [_whole(item) for item in form]
    if isinstance(form, dict):
        return {sympy.Symbol(key): _whole(item) for key, item in form.items()}
    return (
        form
        if isinstance(form, sympy.Basic)
        else sympy.Symbol(
            quoted(form) if isinstance(form, str) else "none" if form is None else str(form)
        )
    )


def _renamed(form: Any) -> Any:
    """Renames symbols so that SymPy sets their indices: `x[0,1]` becomes x_{0,1}."""
    symbols = {
        x: sympy.Symbol(re.sub(r"\[(.*)\]$", r"_\1", x.name))
        for x in form.free_symbols
        if x.name.endswith("]")
    }
    return form.xreplace(symbols) if hasattr(form, "xreplace") else form
