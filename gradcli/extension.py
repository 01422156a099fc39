"""`gradcli.register`: a function of NumPy's kind joins the builtins, with its derivatives."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeAlias

from .diagnostics import GradcliError, did_you_mean
from .lang.constants import CONSTANTS
from .lang.lexer import RESERVED
from .ops import OPS, registry
from .ops.op import Op, OpError, Signature
from .ops.rule_values import evaluate

Rule: TypeAlias = Callable[..., Any]


def register(
    name: str,
    signature: str,
    summary: str,
    forward: Callable[..., Any],
    *,
    partials: Sequence[Rule | None] | None = None,
    vjp: Sequence[Rule | None] | Rule | None = None,
    jvp: Rule | None = None,
    linear: bool = False,
    multilinear: bool = False,
    saves: Sequence[str] | None = None,
    differentiable: bool = True,
    symbolic: Rule | None = None,
    domain: Sequence[tuple[float, float]] = (),
    note: str = "",
    category: str = "registered",
    replace: bool = False,
) -> None:
    """Adds a builtin: programs call it by its name, and `gradcli ops` lists it.

    name       how programs call it
    signature  its parameters: operands, which are numbers and arrays, and after a `;` options,
               which are static: `"x, slope = 0.01"`, `"x; axis = none"`; `"*arrays; axis = 0"`
               takes any number of operands
    summary    one sentence
    forward    what it computes, `(*operands, **options) -> array`, in NumPy's functions
    domain     the open interval of each operand in which it is smooth: where checks sample it;
               without it everywhere
    note       the convention at kinks and edges, in words
    category   the heading that `gradcli ops` puts it under
    replace    whether a function that was registered under this name before may be replaced; a
               builtin never is

    The derivatives are written in the language's own functions, `m.sin(x)`, with Python's
    operators; `y` is the result. Derivatives of derivatives follow from that. There are two forms,
    for two kinds of function:

    partials   of an elementwise function: for each operand the partial derivative, `(m, y,
               *operands)`. They are read once as formulas, so they have no `if` (use `m.where`) and
               no shapes. Both modes follow from them. None stands for a whole number that never
               moves, the order of a Bessel function; such operands come first.
    vjp        of any other function: for each operand its cotangent, `(m, g, y, *operands,
               **options)`, where `g` is the result's; None for an operand without one, as an index
               is. For any number of operands one function, `(m, g, y, k, *operands, **options)`.
    jvp        the same for forward mode: `(m, t, y, *operands, **options)` gives the tangent of the
               result; `t` lists the operands' tangents, None where there is none. Functions that
               are `linear` in all operands together, or `multilinear`, in each, need none. Without
               it forward mode fails, with a message.
    saves      the operands, and "result", whose values `vjp` and `jvp` read; of the others they see
               the shape only. Without it all are kept.

    symbolic   its closed form, `(s, *operands, **options)` in SymPy's functions, `s.sin(x)`;
               without it there is none

    Without derivatives, differentiating through it is an error; with `differentiable = False` it is
    zero, as of `argmax`.

    Raises ValueError or TypeError, with what is wrong.
    """
    _verify_name(name, replace)
    elementwise = partials is not None
    operands, variadic = _read_signature(name, signature)
    for what, function in (
        ("forward", forward),
        *_rules(partials, vjp),
        ("jvp", jvp),
        ("symbolic", symbolic),
    ):
        if not callable(function) and (function is not None or what == "forward"):
            _fail(name, f"{what} is {function!r}, and should be a function", TypeError)
    if elementwise and (vjp is not None or jvp is not None or linear or multilinear):
        _fail(
            name,
            "`partials` say all of an elementwise function; `vjp`, `jvp` and `linear` are for "
            "others",
        )
    if not differentiable and (elementwise or vjp is not None or jvp is not None):
        _fail(name, "it has derivatives, and is said to have none (`differentiable = False`)")
    if (jvp is not None or linear or multilinear) and vjp is None:
        _fail(name, "forward mode has a rule and reverse mode has none: give `vjp`, too")
    if domain and len(domain) != len(operands):
        _fail(name, f"`domain` has {len(domain)} intervals, and there are {len(operands)} operands")
    if bad := next((pair for pair in domain if len(pair) != 2 or not pair[0] < pair[1]), None):
        _fail(name, f"`domain` holds {bad!r}, and an interval is `(low, high)`")
    if not isinstance(summary, str) or not summary.strip():
        _fail(name, "it needs a summary, of one sentence")
    known = [*operands, *([variadic] if variadic else []), "result"]
    if saves is not None and (unknown := [s for s in saves if s not in known]):
        _fail(name, f"`saves` names {unknown[0]!r}, and what can be saved is {', '.join(known)}")
    facts: dict[str, Any] = {
        "category": category,
        "domain": tuple(map(tuple, domain)),
        "note": note,
        "real_only": True,
        "symbolic": symbolic,
    }
    function = _apart(_guarded(name, forward))
    if elementwise:
        assert partials is not None
        _verify_partials(name, operands, variadic, partials)
        facts["kernel"] = lambda xp, special, *vectors: _elementwise(name, vectors, function)
        facts["partials"] = tuple(partials)
    else:
        _verify_vjp(name, operands, variadic, vjp)
        facts |= {
            "compute": lambda xp, *values, **options: function(*values, **options),
            "differentiable": differentiable,
        }
        facts |= {
            "vjp": _guarded_rules(name, operands, vjp),
            "jvp": None if jvp is None else _guarded(name, jvp),
        }
        facts |= {
            "linear": linear,
            "multilinear": multilinear,
            "saves": tuple(known if saves is None else saves),
        }
    registry.add(Op(name, signature, summary.strip(), **facts))


def unregister(name: str) -> None:
    """Takes a registered function out again. Raises ValueError for a builtin, and for what isn't
    registered."""
    registry.remove(name)


# ---- what can be wrong ---------------------------------------------------------------------------


def _fail(name: str, message: str, error: type[Exception] = ValueError) -> NoReturn:
    raise error(f"cannot register `{name}`: {message}")


def _verify_name(name: str, replace: bool) -> None:
    if not isinstance(name, str):
        raise TypeError(f"the name of a function is a string, not {name!r}")
    if not name.isidentifier() or unicodedata.normalize("NFKC", name) != name:
        _fail(name, "it is no name")
    if name in RESERVED or name in CONSTANTS:
        _fail(name, "the language has another meaning for this name")
    if name in OPS and name not in registry.REGISTERED:
        _fail(
            name, "there is a builtin of this name; programs that want another define it with `fn`"
        )
    if name in registry.REGISTERED and not replace:
        _fail(name, "it is registered already; `replace = True` replaces it")


def _read_signature(name: str, text: str) -> tuple[list[str], str]:
    """The names of the operands, and of the variadic one."""
    try:
        signature = Signature(text)
    except (ValueError, AttributeError) as error:
        raise ValueError(
            f"cannot register `{name}`: the signature {text!r} can't be read: {error}"
        ) from None
    names = [
        *(p.name for p in signature.parameters),
        *([signature.variadic] if signature.variadic else []),
    ]
    if (bad := next((n for n in names if not n.isidentifier()), None)) is not None:
        _fail(name, f"the signature {text!r} has a parameter {bad!r}, which is no name")
    if len(set(names)) < len(names):
        _fail(name, f"the signature {text!r} has two parameters of one name")
    if not (signature.operands or signature.variadic):
        _fail(name, "it has no operands, so it has no derivatives: a constant is a number")
    return [p.name for p in signature.operands], signature.variadic


def _rules(
    partials: Sequence[Rule | None] | None, vjp: Sequence[Rule | None] | Rule | None
) -> list[tuple[str, Any]]:
    """The rules that should be functions, with what to call them."""
    if callable(vjp):
        return [("vjp", vjp)]
    both = (("partials", partials or ()), ("vjp", vjp or ()))
    return [
        (f"{what}[{k}]", rule)
        for what, rules in both
        for k, rule in enumerate(rules)
        if rule is not None
    ]


def _verify_partials(
    name: str, operands: list[str], variadic: str, partials: Sequence[Rule | None]
) -> None:
    if variadic:
        _fail(name, "an elementwise function has a fixed number of operands")
    if len(partials) != len(operands):
        _fail(
            name,
            f"`partials` has {len(partials)} functions, and the operands are {', '.join(operands)}",
        )
    orders = [rule is None for rule in partials]
    if orders != sorted(orders, reverse=True) or all(orders):
        _fail(name, "operands that never move come first, and one has to move")
    for operand, rule in zip(operands, partials, strict=True):
        if rule is None:
            continue
        try:
            found, calls = _read(rule, 1 + len(operands))
        except Exception as error:  # whatever a function may raise that is given formulas
            raise ValueError(
                f"cannot register `{name}`: the partial with respect to {operand} is no formula: "
                f"{type(error).__name__}: {error}"
            ) from error
        for called, values in calls:
            _verify_numbers(name, operand, values)
            _verify_call(name, operand, called, len(values))
        _verify_numbers(name, operand, [found])


_COMPUTED = object()


def _read(rule: Rule, n_values: int) -> tuple[Any, list[tuple[str, list[Any]]]]:
    """What a rule gives, and its calls with their arguments: numbers, and what is computed."""
    calls: list[tuple[str, list[Any]]] = []

    def call(name: str, values: list[Any]) -> object:
        calls.append((name, values))
        return _COMPUTED

    return evaluate(rule, [_COMPUTED] * n_values, call), calls


def _verify_numbers(name: str, operand: str, values: list[Any]) -> None:
    for value in values:
        if value is not _COMPUTED and not isinstance(value, int | float | complex):
            _fail(
                name,
                f"the partial with respect to {operand} holds {value!r}, which isn't a number",
                TypeError,
            )


def _verify_call(name: str, operand: str, called: str, n_arguments: int) -> None:
    call, op = f"the partial with respect to {operand} calls `m.{called}`", OPS.get(called)
    if op is None:
        if called != name:
            help = did_you_mean(called, OPS)
            _fail(name, f"{call}, which isn't there{f'; {help}' if help else ''}")
    elif not (op.elementwise or op.name == "where"):
        _fail(name, f"{call}, which isn't elementwise; rules on arrays are a `vjp`")
    elif n_arguments != len(op.signature.operands):
        _fail(name, f"{call} with {n_arguments} arguments")


def _verify_vjp(
    name: str, operands: list[str], variadic: str, vjp: Sequence[Rule | None] | Rule | None
) -> None:
    if vjp is None:
        return
    if variadic and not callable(vjp):
        _fail(name, "with any number of operands `vjp` is one function, `(m, g, y, k, *operands)`")
    if not variadic and callable(vjp):
        _fail(name, "`vjp` is a list of one function an operand")
    if not callable(vjp) and len(vjp) != len(operands):
        _fail(name, f"`vjp` has {len(vjp)} functions, and the operands are {', '.join(operands)}")


# ---- functions of others -------------------------------------------------------------------------


class _FailedError(OpError, ValueError):
    """Another package's function has raised something. A ValueError, too: hot code passes these on
    to those who tell."""


def _guarded_rules(name: str, operands: list[str], vjp: Sequence[Rule | None] | Rule | None) -> Any:
    """The cotangent rules of a structural entry; of one that has none, None for each operand: there
    is no way back."""
    if vjp is None:
        return (None,) * len(operands)
    return (
        _guarded(name, vjp)
        if callable(vjp)
        else tuple(None if rule is None else _guarded(name, rule) for rule in vjp)
    )


def _guarded(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whatever it raises being an error of the program that called it."""

    def guarded(*values: Any, **options: Any) -> Any:
        try:
            return function(*values, **options)
        except (OpError, GradcliError, MemoryError):
            raise
        except Exception as error:
            raise _FailedError(f"`{name}` failed: {type(error).__name__}: {error}") from error

    return guarded


def _apart(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which gets arrays that it can't write to: they are values of the program. What
    it returns shares no memory with them."""

    def apart(*values: Any, **options: Any) -> Any:
        result = function(*map(_unwritable, values), **options)
        return result.copy() if _is_unwritable(result) else result

    return apart


def _unwritable(value: Any) -> Any:
    if not hasattr(getattr(value, "flags", None), "writeable"):
        return value
    view = value.view()
    view.flags.writeable = False
    return view


def _is_unwritable(value: Any) -> bool:
    return not getattr(getattr(value, "flags", None), "writeable", True)


def _elementwise(name: str, vectors: tuple[Any, ...], function: Callable[..., Any]) -> Any:
    """What the function gives for operands, a number for each of their elements."""
    result = function(*vectors)
    kind = getattr(getattr(result, "dtype", None), "kind", "")
    if not (isinstance(result, int | float | complex) or kind in (*"biufc",)):
        returned = "None" if result is None else f"a Python `{type(result).__name__}`"
        raise _FailedError(f"`{name}` failed: it returned {returned}, not a number or an array")
    shapes = {getattr(vector, "shape", ()) for vector in vectors}
    if len(shapes) == 1 and getattr(result, "shape", ()) not in shapes:
        raise _FailedError(
            f"`{name}` failed: it goes element by element, and returned shape "
            f"{getattr(result, 'shape', ())} for operands of shape {shapes.pop()}"
        )
    return result
