"""The table's own order: every entry says what it is, and nothing is said twice."""

from __future__ import annotations

from collections import Counter

import pytest

from gradcli.ops import _MODULES, ALIASES, OPS
from gradcli.ops.op import BindingError, Op, Signature
from gradcli.ops.rule_values import evaluate


@pytest.mark.parametrize("op", OPS.values(), ids=lambda op: op.name)
def test_entry_is_complete(op: Op) -> None:
    n = len(op.signature.operands)
    assert op.category
    assert op.summary
    assert op.summary.endswith(".") or op.internal
    assert not op.domain or len(op.domain) == n
    assert set(op.saves) <= {p.name for p in op.signature.operands} | {
        op.signature.variadic,
        "result",
    }
    if op.elementwise:
        assert len(op.partials) == (n if op.differentiable else 0)
    elif op.compute and not op.signature.variadic and op.vjp:
        assert len(op.vjp) == n  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "op", [op for op in OPS.values() if op.elementwise], ids=lambda op: op.name
)
def test_formulas_use_the_table_only(op: Op) -> None:
    values = [None] * len(op.signature.operands)
    called: list[str] = []
    for partial in filter(None, op.partials):
        evaluate(partial, [None, *values], lambda name, values: called.append(name))
    if op.forward:
        evaluate(op.forward, values, lambda name, values: called.append(name))
    assert set(called) <= OPS.keys()


def test_no_name_or_alias_twice() -> None:
    names = Counter(op.name for module in _MODULES for op in module.OPS)
    aliases = Counter(alias for op in OPS.values() for alias in op.aliases)
    assert not [name for name, count in (names + aliases).items() if count > 1]
    assert len(ALIASES) == len(aliases)


@pytest.mark.parametrize(
    ("text", "positional", "keywords", "slots", "options"),
    [
        ("a, b", 2, [], [0, 1], {}),
        ("x, slope=0.01", 1, ["slope"], [0, "slope"], {}),
        ("x; axis=none", 2, [], [0], {"axis": 1}),
        ("x; *shape", 2, [], [0], {"shape": 1}),
        ("x; *shape", 3, [], [0], {"shape": (1, 2)}),
        ("*arrays; axis=0", 2, ["axis"], [0, 1], {"axis": "axis"}),
        ("subscripts: *arrays", 3, [], [1, 2], {"subscripts": 0}),
        ("shape: value", 2, [], [1], {"shape": 0}),
    ],
)
def test_binding(
    text: str, positional: int, keywords: list[str], slots: list[object], options: dict[str, object]
) -> None:
    assert Signature(text).bind("f", positional, keywords) == (slots, options)


@pytest.mark.parametrize(
    ("name", "positional", "keywords", "message", "help"),
    [
        ("max", 2, [], "`max` takes 1 positional argument, 2 given", "`axis` goes by keyword"),
        ("max", 2, [], "2 given", "`maximum(a, b)`"),
        ("sin", 0, [], "`sin` needs `x`", "sin(x)"),
        ("sin", 1, ["axis"], "`sin` has no parameter `axis`", "sin(x)"),
        ("sum", 2, ["axis"], "`sum` got `axis` twice", ""),
        ("stack", 0, [], "`stack` needs at least one argument", "stack(arrays, axis"),
    ],
)
def test_binding_refuses(
    name: str, positional: int, keywords: list[str], message: str, help: str
) -> None:
    with pytest.raises(BindingError) as error:
        OPS[name].signature.bind(name, positional, keywords)
    assert message in error.value.message
    assert help in error.value.help.replace("*arrays", "arrays")
