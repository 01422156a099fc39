"""How the languages that closed forms are written in spell numbers, functions and choices. `code.py` writes with these."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping
from typing import NamedTuple


class Language(NamedTuple):
    """One language.

    functions   by SymPy's name what a call looks like, `{0}` and `{1}` being its arguments
    words       names that programs can't give away
    integer     a whole number as a float
    power       a power with a whole exponent; `real_power` with any other
    choice      a value under a condition, and another
    logic       the signs of and, or, not, ==, !=, true, false
    element     an element of an array: its name, and its index and shape
    unicode     whether names may have letters such as α
    folds       whether x and X are the same name
    complex     the imaginary unit; "" where there is none
    """

    functions: Mapping[str, str]
    words: frozenset[str]
    integer: str
    power: str
    real_power: str
    choice: str
    logic: tuple[str, str, str, str, str, str, str]
    element: Callable[[str, tuple[int, ...], tuple[int, ...]], str]
    pi: str
    e: str
    inf: str
    nan: str
    unicode: bool = True
    folds: bool = False
    complex: str = ""


def _calls(prefix: str, *names: str, **others: str) -> dict[str, str]:
    """Functions of one argument that are called by their own names, and others."""
    return {name: f"{prefix}{name}({{0}})" for name in names} | others


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TRIGONOMETRIC = ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh")
_RECIPROCALS = {"sec": "cos", "csc": "sin", "cot": "tan", "sech": "cosh", "csch": "sinh", "coth": "tanh"}


def _with_reciprocals(functions: dict[str, str]) -> dict[str, str]:
    return functions | {name: f"(1.0/{functions[of]})" for name, of in _RECIPROCALS.items()}


def _nested(name: str, index: tuple[int, ...], shape: tuple[int, ...]) -> str:
    return name + "".join(f"[{i}]" for i in index)


def _row_major(name: str, index: tuple[int, ...], shape: tuple[int, ...]) -> str:
    place = 0
    for i, size in zip(index, shape, strict=True):
        place = place * size + i
    return f"{name}[{place}]"


PYTHON = Language(
    functions=_with_reciprocals(
        _calls(
            "math.", *_TRIGONOMETRIC, "exp", "log", "sqrt", "erf", "erfc", "gamma",
            Abs="abs({0})", ceiling="math.ceil({0})", floor="math.floor({0})", loggamma="math.lgamma({0})",
            atan2="math.atan2({0}, {1})", Max="max({0}, {1})", Min="min({0}, {1})",
        )
    ),
    words=frozenset(keyword.kwlist) | _words("math abs max min"),
    integer="{0}", power="{0}**{1}", real_power="{0}**{1}", choice="({1} if {0} else {2})",
    logic=("and", "or", "not ", "==", "!=", "True", "False"), element=_nested,
    pi="math.pi", e="math.e", inf="math.inf", nan="math.nan", complex="1j",
)  # fmt: skip

NUMPY = PYTHON._replace(
    functions=_with_reciprocals(
        _calls("np.", "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "sqrt", "floor", "sign")
        | {name: f"np.arc{name[1:]}({{0}})" for name in _TRIGONOMETRIC if name.startswith("a")}
        | _calls("special.", "erf", "erfc", "gamma", "erfinv", "zeta")
        | {
            "Abs": "np.abs({0})", "ceiling": "np.ceil({0})", "loggamma": "special.gammaln({0})", "re": "np.real({0})",
            "im": "np.imag({0})", "arg": "np.angle({0})", "conjugate": "np.conj({0})", "atan2": "np.arctan2({0}, {1})",
            "Max": "np.maximum({0}, {1})", "Min": "np.minimum({0}, {1})", "polygamma": "special.polygamma({0}, {1})",
            "besseli": "special.iv({0}, {1})",
            "betainc_regularized": "special.betainc({0}, {1}, {3})", "zeta2": "special.zeta({0}, {1})",
            "lowergamma": "(special.gammainc({0}, {1})*special.gamma({0}))",
            "uppergamma": "(special.gammaincc({0}, {1})*special.gamma({0}))",
        }
    ),
    words=frozenset(keyword.kwlist) | _words("np special"),
    choice="np.where({0}, {1}, {2})",
    logic=("&", "|", "~", "==", "!=", "True", "False"),
    pi="np.pi", e="np.e", inf="np.inf", nan="np.nan",
)  # fmt: skip

C = Language(
    functions=_with_reciprocals(
        _calls(
            "", *_TRIGONOMETRIC, "exp", "log", "sqrt", "erf", "erfc", "floor",
            Abs="fabs({0})", ceiling="ceil({0})", gamma="tgamma({0})", loggamma="lgamma({0})", atan2="atan2({0}, {1})",
            Max="fmax({0}, {1})", Min="fmin({0}, {1})",
        )
    ),
    words=_words(
        "auto break case char const continue default do double else enum extern float for goto if inline int long register "
        "restrict return short signed sizeof static struct switch typedef union unsigned void volatile while bool true false "
        "complex imaginary asm main out y0 y1 yn j0 j1 jn gamma INFINITY NAN"
    ),
    integer="{0}.0", power="pow({0}, {1})", real_power="pow({0}, {1})", choice="({0} ? {1} : {2})",
    logic=("&&", "||", "!", "==", "!=", "1", "0"), element=_row_major,
    pi="3.141592653589793", e="2.718281828459045", inf="INFINITY", nan="NAN", unicode=False,
)  # fmt: skip

FORTRAN = Language(
    functions=_with_reciprocals(
        _calls(
            "", *_TRIGONOMETRIC, "exp", "log", "sqrt", "erf", "erfc", "gamma",
            Abs="abs({0})", floor="real(floor({0}), dp)", ceiling="real(ceiling({0}), dp)", loggamma="log_gamma({0})",
            atan2="atan2({0}, {1})", Max="max({0}, {1})", Min="min({0}, {1})",
        )
    ),
    words=_words(
        "module contains function pure result value dp real integer implicit none use only end intent in out merge if do"
    ),
    integer="{0}.0_dp", power="{0}**{1}", real_power="{0}**{1}", choice="merge({1}, {2}, {0})",
    logic=(".and.", ".or.", ".not. ", "==", "/=", ".true.", ".false."),
    element=lambda name, index, shape: f"{name}({', '.join(str(i + 1) for i in index)})",
    pi="3.141592653589793_dp", e="2.718281828459045_dp", inf="ieee_value(0.0_dp, ieee_positive_inf)",
    nan="ieee_value(0.0_dp, ieee_quiet_nan)", unicode=False, folds=True,
)  # fmt: skip

JULIA = Language(
    functions=_with_reciprocals(
        _calls(
            "", *_TRIGONOMETRIC, "exp", "log", "sqrt", "erf", "erfc", "gamma", "loggamma", "erfinv", "floor", "sign", "zeta",
            Abs="abs({0})", ceiling="ceil({0})", atan2="atan({0}, {1})", Max="max({0}, {1})", Min="min({0}, {1})",
            polygamma="polygamma({0}, {1})", besseli="besseli({0}, {1})", zeta2="zeta({0}, {1})",
            lowergamma="(gamma({0}) - gamma({0}, {1}))", uppergamma="gamma({0}, {1})", re="real({0})", im="imag({0})",
            arg="angle({0})", conjugate="conj({0})",
        )
    ),
    words=_words(
        "baremodule begin break catch const continue do else elseif end export false finally for function global if import in "
        "isa let local macro module quote return struct true try using while where pi im Inf NaN"
    ),
    integer="{0}.0", power="{0}^{1}", real_power="{0}^{1}", choice="({0} ? {1} : {2})",
    logic=("&&", "||", "!", "==", "!=", "true", "false"),
    element=lambda name, index, shape: f"{name}[{', '.join(str(i + 1) for i in index)}]",
    pi="pi", e="ℯ", inf="Inf", nan="NaN", complex="im",
)  # fmt: skip

RUST = Language(
    functions=_with_reciprocals(
        _calls(
            "f64::", *_TRIGONOMETRIC, "exp", "sqrt", "floor",
            log="f64::ln({0})", Abs="f64::abs({0})", ceiling="f64::ceil({0})", atan2="f64::atan2({0}, {1})",
            Max="f64::max({0}, {1})", Min="f64::min({0}, {1})",
        )
    ),
    words=_words(
        "as break const continue crate else enum extern false fn for if impl in let loop match mod move mut pub ref return self "
        "Self static struct super trait true type unsafe use where while async await dyn abstract become box do final macro "
        "override priv typeof unsized virtual yield try gen f64 std"
    ),
    integer="{0}.0", power="f64::powi({0}, {1})", real_power="f64::powf({0}, {1})", choice="(if {0} {{ {1} }} else {{ {2} }})",
    logic=("&&", "||", "!", "==", "!=", "true", "false"), element=_nested,
    pi="std::f64::consts::PI", e="std::f64::consts::E", inf="f64::INFINITY", nan="f64::NAN",
)  # fmt: skip

LANGUAGES = {"python": PYTHON, "numpy": NUMPY, "c": C, "fortran": FORTRAN, "julia": JULIA, "rust": RUST}
