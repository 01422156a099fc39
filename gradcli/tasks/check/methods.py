"""The methods of `check`, by name."""

from __future__ import annotations

from ...diagnostics import Diagnostic, GradcliError, did_you_mean

METHODS = {
    "forward": "forward mode, whose rules are those of reverse mode",
    "complex": "the complex step, exact to rounding",
    "differences": "finite differences, extrapolated, with an error estimate of their own",
    "taylor": "the order of the Taylor remainder: 2 for a right gradient, 1 for a wrong one",
    "sympy": "SymPy's derivative of the closed form, with 50 digits",
}
# The methods that know nothing of the rules that reverse mode goes by. A gradient is verified where
# one of them agrees.
INDEPENDENT = ("complex", "differences", "taylor", "sympy", "rules")


def methods_of(names: tuple[str, ...]) -> tuple[str, ...]:
    """The methods named, in the order of METHODS; all where none is. Raises GradcliError (E001) for
    any other."""
    for name in names:
        if name not in METHODS:
            help = did_you_mean(name, METHODS) or f"the methods are {', '.join(METHODS)}"
            raise GradcliError(
                Diagnostic("E001", f"--methods: there is no method `{name}`", help=help)
            )
    return tuple(m for m in METHODS if m in names) if names else tuple(METHODS)
