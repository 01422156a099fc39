"""Tapes of Python: failures have codes, and no places."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli import Tape, Variable
from gradcli import numpy as gnp

from .watched import gradient


def _ask_twice() -> None:
    x = Variable(1.0)
    with Tape() as t:
        y = x * 2
    t.gradient(y, x)
    t.gradient(y, x)


def _open_twice() -> None:
    t = Tape()
    with t:
        pass
    with t:
        pass


def _opaque() -> None:
    gradcli.register("opaque_one", "x", "Twice.", lambda x: 2 * x)
    try:
        gradient(lambda x: gnp.opaque_one(x), 1.0)
    finally:
        gradcli.unregister("opaque_one")


W = Variable(np.ones((3, 2)), "w")
FAILURES: list[tuple[Callable[[], Any], str, str]] = [
    (lambda: W @ W, "E304", "cannot multiply shapes (3, 2) and (3, 2)"),
    (lambda: W + np.ones(3), "E302", "shapes (3, 2) and (3,) don't broadcast in `+`"),
    (lambda: W[3], "E303", "index 3 is out of range"),
    (lambda: W.sum(5), "E320", "axis 5"),
    (lambda: W.sum(axes=0), "E308", "`sum` has no parameter `axes`"),
    (lambda: W + "1", "E301", "doesn't take the string"),
    (lambda: W + object(), "E301", "a object is no number"),
    (lambda: W * np.array(["a"]), "E301", "the dtype of the array is <U1"),
    (lambda: W * np.ma.array([1, 2], mask=[0, 1]), "E301", "masked: 1 of its 2 elements have"),
    (lambda: W * 2**70, "E305", "doesn't fit into 64 bits"),
    (lambda: W * np.array([2**63], "uint64"), "E301", "9223372036854775808 doesn't fit into 64"),
    (lambda: W.assign([1.0]), "E313", "`w` has shape (3, 2), and the new state (1,)"),
    (
        lambda: W.assign(np.ones((3, 2)) * 1j),
        "E313",
        "`w` is float64, and the new state complex128",
    ),
    (lambda: Variable("one"), "E312", "can't be the string"),
    (lambda: Variable([[1.0], [1.0, 2.0]]), "E302", "the rows of the list differ in length"),
    (lambda: np.allclose(W, 1.0), "E308", "NumPy's `allclose` has no derivatives here"),
    (lambda: np.add.reduce(W), "E308", "NumPy's `add.reduce` has no derivatives here"),
    (lambda: np.asarray(W), "E308", "a NumPy array of it would have no history"),
    (lambda: gradient(lambda x: x * 1j, 1.0), "E314", "the target is complex"),
    (lambda: Tape().gradient(1.0, 2.0), "E314", "the source is float64 2.0, which no tape knows"),
    (lambda: Tape().gradient(1.0, W, unconnected="nil"), "E311", "`unconnected` is"),
    (_ask_twice, "E321", "this tape was asked before"),
    (_open_twice, "E308", "this tape has been opened before"),
    (_opaque, "E317", "`opaque_one` has no gradient registered"),
]


@pytest.mark.parametrize(
    ("action", "code", "message"), FAILURES, ids=[f"{case[1]} {case[2]}" for case in FAILURES]
)
def test_failures_have_codes_and_no_places(
    action: Callable[[], Any], code: str, message: str
) -> None:
    with pytest.raises(gradcli.GradcliError) as caught:
        action()
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.span) == (code, None)
    assert message in diagnostic.message
    assert "None" not in str(caught.value)


def test_an_error_in_the_block_closes_the_tape() -> None:
    with pytest.raises(KeyError), Tape():
        raise KeyError
    assert type(Variable(1.0) * 2) is float


def test_a_value_is_not_copied() -> None:
    with Tape() as t:
        x = t.watch(1.0)
    with pytest.raises(TypeError, match=r"its `\.value`"):
        copy.deepcopy(x)
