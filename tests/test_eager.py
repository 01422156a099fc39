"""Tapes of Python: the same answers as in programs, on NumPy's operators, methods and functions;
errors without places."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli import Tape, Value, Variable
from gradcli import numpy as gnp
from gradcli.ops import BUILTINS, OPS

from .watched import gradient

A = np.array([[1.0, 2.0], [3.0, 4.0]])


# ---- derivatives ---------------------------------------------------------------------------------

# What is computed here, and in the language: one and the same engine, and the same digits.
SAME: list[tuple[Callable[[Any], Any], str, Any]] = [
    (lambda x: x**2 + 3 * x - 1 / x, "x**2 + 3*x - 1/x", 2.0),
    (lambda x: 2**x + x % 0.75 - (-x) // 2 + abs(-x) + +x,
        "2**x + x % 0.75 - (-x) // 2 + abs(-x) + +x", 2.0),
    (lambda x: gnp.sin(x) * gnp.erf(x) + gnp.lgamma(x), "sin(x) * erf(x) + lgamma(x)", 0.7),
    (lambda x: np.sin(x) * np.exp(x) + np.arctan2(x, 2.0), "sin(x) * exp(x) + atan2(x, 2.0)", 0.7),
    (lambda x: x.sum() + (x * [1.0, 2.0]).prod(), "x.sum() + (x * [1.0, 2.0]).prod()", [0.5, -1.5]),
    (lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)), "sum(where(x > 0, sqrt(x), 0.0))",
        [0.5, 0.0, -1.5]),
    (lambda x: x[0] * x[-1] + x[1:].sum(), "x[0] * x[-1] + x[1:].sum()", [0.5, 2.0, 3.0]),
    (lambda x: gnp.logsumexp(np.stack([x, 2 * x]), axis=0).sum(),
        "sum(logsumexp(stack([x, 2*x]), axis = 0))", [0.5, 2.0]),
    (lambda x: (x @ x.T).trace() + np.linalg.inv(x).sum(), "trace(x @ x.T) + sum(inv(x))", A),
    (lambda x: np.einsum("ij,ij->", x, x) + np.mean(x, axis=0)[1],
        'einsum("ij,ij->", x, x) + mean(x, axis = 0)[1]', A),
    (lambda x: gnp.eigh(x + x.T)[0][1], "eigh(x + x.T)[0][1]", A),
    (lambda x: sum(row.sum() * k for k, row in enumerate(x)), "sum(x[1])", A),
    (lambda x: np.float64(2) * x + np.ones(2) @ (A @ (x * np.ones(2))),
        "2*x + sum(array([[1., 2.], [3., 4.]]) * x)", 0.5),
    (lambda x: gnp.detach(x) * x, "detach(x) * x", 3.0),
    (lambda x: np.concatenate([x, [1.0], x])[3], "concatenate([x, [1.0], x])[3]", [1.0, 2.0]),
]  # fmt: skip


@pytest.mark.parametrize(("function", "text", "x"), SAME, ids=[case[1] for case in SAME])
def test_the_gradients_are_those_of_a_program(
    function: Callable[[Any], Any], text: str, x: Any
) -> None:
    evaluation = gradcli.load(
        source=f"var x = 0.0; x = {np.array(x).tolist()}; watch x; y = {text}; g = grad(y, x); output y, g"
    ).run()
    with Tape() as t:
        value = t.watch(x)
        y = function(value)
    assert y.value == pytest.approx(evaluation.outputs["y"], rel=1e-15)
    found = t.gradient(y, value)
    assert type(found) is type(evaluation.outputs["g"])
    assert np.allclose(found, evaluation.outputs["g"], rtol=1e-15, atol=0, equal_nan=True)


def test_nested_tapes_give_higher_orders() -> None:
    x = Variable(2.0)
    with Tape() as a, Tape() as b:
        with Tape() as c:
            y = x**4
        first = c.gradient(y, x)
        second = b.gradient(first, x)
    assert (first.value, second.value, a.gradient(second, x)) == (32.0, 48.0, 48.0)


def test_a_persistent_tape_records_its_own_answers() -> None:
    x = Variable([1.0, 2.0])
    with Tape(persistent=True) as t:
        first = t.gradient((x**3).sum(), x)
        rows = t.jacobian(first, x)
    assert rows.value.tolist() == [[6.0, 0.0], [0.0, 12.0]]
    assert t.gradient(first, x).tolist() == [6.0, 12.0]


def test_jacobians_seeds_and_structures() -> None:
    x, w = Variable([1.0, 2.0]), Variable(3.0)
    with Tape(persistent=True) as t:
        y = x * x * w
        rows = y.reshape([2, 1])
    assert t.jacobian(y, x).tolist() == [[6.0, 0.0], [0.0, 12.0]]
    assert t.batch_jacobian(rows, x).tolist() == [[6.0], [12.0]]
    assert t.gradient(y, {"x": x, "w": [w]}, seed=[1.0, 10.0])["w"] == [41.0]
    assert t.gradient(w * 2, x) is None
    assert t.gradient(w * 2, x, unconnected="zero").tolist() == [0.0, 0.0]
    assert t.gradient([y, y], w) == 10.0


def test_what_no_tape_records_is_plain() -> None:
    x = Variable(3.0)
    assert type(x * 2) is float
    with Tape() as t:
        y = x * 2
        assert isinstance(y, Value)
        assert type(gnp.sin(0.5)) is float
        assert type(t.gradient(y, x)) is float  # the tape that is asked doesn't record it
        with t.stop_recording():
            assert type(x * 2) is float
        z = y * x
    assert type(y * 2) is float
    with Tape(watch_variables=False) as t:
        assert type(t.watch(x) * x) is Value
    with Tape(persistent=True) as outer:
        outer.reset()
        with Tape() as t:
            z = x**2
        assert type(t.gradient(z, x)) is Value


def test_tapes_watch_what_they_are_told_to() -> None:
    x, s = Variable(3.0, "x"), Variable(2.0, "s", trainable=False)
    with Tape(persistent=True) as t:
        t.watch(s)
        y = x * s * s
    assert t.gradient(y, [x, s]) == [4.0, 12.0]
    assert t.watched_variables()[0] is x
    assert t.watched_variables()[1] is s
    with Tape(watch_variables=False) as t:
        y = x * s
    assert t.gradient(y, x) is None


def test_a_training_loop() -> None:
    random = np.random.default_rng(0)
    data = random.normal(size=(50, 3))
    wanted = np.array([1.0, -2.0, 0.5])
    w = Variable(np.zeros(3), "w")
    for _ in range(200):
        with Tape() as t:
            loss = ((data @ w - data @ wanted) ** 2).mean()
        w -= 0.1 * t.gradient(loss, w)
    assert isinstance(w, Variable)
    assert np.allclose(w.value, wanted, atol=1e-6)


# ---- values --------------------------------------------------------------------------------------


def test_whoever_writes_into_his_arrays_changes_no_gradient() -> None:
    x, factor, index = Variable([3.0, 4.0]), np.array([1.0, 2.0]), np.array([0])
    with Tape() as tape:
        y = x * factor + [factor * x, 0.0][0] + x[index].sum()
    factor[0], index[0] = 100.0, 1
    assert tape.gradient(y, x).tolist() == [4.0, 4.0]


def test_a_value_is_like_an_array() -> None:
    with Tape() as t:
        x, n = t.watch(A), t.watch(3)
        y = x * 1.0
        assert (y.shape, y.ndim, y.size, y.dtype, len(y)) == ((2, 2), 2, 4, "float64", 2)
        assert (n.shape, n.ndim, n.size, n.dtype, float(n), bool(n)) == (
            (),
            0,
            1,
            "float64",
            3.0,
            True,
        )
        assert (y > 1.5).tolist() == [[False, True], [True, True]]
        assert (n == 3.0, n != 3.0, n < 4) == (True, False, True)
        assert y[np.array([True, False])].shape == (1, 2)
        assert y[..., None, 1].value.tolist() == [[2.0], [4.0]]
        assert y[[1, 0], 0].value.tolist() == [3.0, 1.0]
        assert [row.value.tolist() for row in y] == A.tolist()
        assert repr(n) == "Value(3.0)"
        assert (f"{n:.2f}", f"{n}", int(n)) == ("3.00", "Value(3.0)", 3)
    assert len({y, n, y}) == 2
    with pytest.raises(ValueError, match="read-only"):
        y.value[0] = 1.0
    with pytest.raises(TypeError):
        y[0] = 1.0
    with pytest.raises(TypeError, match="no length"):
        len(n)


def test_a_variable_keeps_its_kind() -> None:
    given = np.array([1.0, 2.0])
    w = Variable(given, "w")
    given[0] = 7.0
    assert w.value.tolist() == [1.0, 2.0]
    held = w
    w += 1
    w *= [1.0, 2.0]
    w /= 2.0
    w **= 2
    w -= w
    assert held is w
    assert w.value.tolist() == [0.0, 0.0]
    w.assign([1, 2])
    assert (w.dtype, w.value.tolist()) == ("float64", [1.0, 2.0])
    assert Variable(3).dtype == "float64"
    assert Variable(3, trainable=False).dtype == "int64"
    assert Variable(np.float32(3)).dtype == "float32"
    assert Variable(np.ones(2, ">f8")).value.dtype.isnative
    for copied in (copy.deepcopy(w), pickle.loads(pickle.dumps(w))):
        assert (copied.name, copied.value.tolist()) == ("w", [1.0, 2.0])
        copied.assign([0.0, 0.0])
    assert w.value.tolist() == [1.0, 2.0]


def test_a_state_that_is_assigned_is_the_present_one() -> None:
    x = Variable(2.0)
    with Tape() as t:
        y = x * x
        x.assign(5.0)
        z = y * x
    assert t.gradient(z, x) == 2 * 2.0 * 5.0 + 4.0


@pytest.mark.parametrize(
    "dtype", ["float32", "float16", "int32", "uint8", ">f8", "bool", "complex64"]
)
def test_arrays_of_any_number_are_taken(dtype: str) -> None:
    with Tape() as t:
        x = t.watch(np.array([1.0, 2.0]))
        y = (x * np.array([1, 0], dtype)).sum()
        y = gnp.real(y)
    assert np.allclose(t.gradient(y, x), [1.0, 0.0])


def test_functions_are_those_of_the_table() -> None:
    names = dir(gnp)
    assert {"sin", "logsumexp", "stack", "svd", "zeros", "detach"} <= set(names)
    assert not {"grad", "jacobian", "range", "normal"} & set(names)
    assert all(not BUILTINS[name].internal for name in names)
    assert gnp.tanh.__doc__ is not None
    assert OPS["tanh"].summary in gnp.tanh.__doc__
    with pytest.raises(AttributeError, match="did you mean `asin`"):
        gnp.arcsin  # noqa: B018
    with pytest.raises(AttributeError, match="did you mean"):
        Variable(1.0).summ()


def test_registered_functions_are_functions_here() -> None:
    gradcli.register("cubed", "x", "The cube.", lambda x: x**3, partials=[lambda m, y, x: 3 * x**2])
    try:
        assert gradient(lambda x: gnp.cubed(x) + x.cubed(), 2.0) == 24.0
        gradcli.register(
            "cubed",
            "x",
            "The cube.",
            lambda x: x**3,
            partials=[lambda m, y, x: 5 * x],
            replace=True,
        )
        assert gradient(lambda x: gnp.cubed(x), 2.0) == 10.0
    finally:
        gradcli.unregister("cubed")


# ---- the world around ----------------------------------------------------------------------------


def test_numpys_own_warnings_are_as_they_were() -> None:
    with np.errstate(all="warn"), warnings.catch_warnings():
        warnings.simplefilter("error")
        with Tape() as t:
            x = t.watch(np.zeros(2))
            y = gnp.log(x).sum()
        assert np.isinf(y.value)
        t.gradient(y, x)
        with pytest.raises(RuntimeWarning):
            np.log(np.zeros(2))


def test_threads_have_tapes_of_their_own() -> None:
    x = Variable(3.0)
    with Tape() as outside:
        y = x * 2
        seen: list[Any] = []

        def work() -> None:
            own = Variable(2.0)
            with Tape() as t:
                z = own**2
            seen.append(t.gradient(z, own))
            for action in (lambda: y * 2, lambda: x * 2, lambda: outside.gradient(1.0, own)):
                with pytest.raises(gradcli.GradcliError, match="belongs to another thread"):
                    action()
            seen.append("done")

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert seen == [4.0, "done"]
    assert outside.gradient(y, x) == 2.0


def test_programs_and_tapes_do_not_mix() -> None:
    x = Variable(3.0)
    with Tape() as t:
        y = x * gradcli.load(source="var a = 2.0; b = a**2; output b").run().outputs["b"]
    assert t.gradient(y, x) == 4.0


@pytest.mark.parametrize("persistent", [False, True])
def test_a_step_leaves_nothing_behind(persistent: bool) -> None:
    def steps(n: int) -> int:
        w, s = Variable(np.ones(3)), Variable(2.0)
        gc.collect()
        before = sys.getallocatedblocks()
        for _ in range(n):
            with Tape(persistent=persistent) as t:
                c = t.watch(np.ones(3))
                y = (w * c * s).sum() + s**2
                t.gradient(w * 1.0, c)
            if persistent:
                t.gradient(y, [w, s])
            assert y is not None
        return sys.getallocatedblocks() - before

    steps(50)
    gc.disable()
    try:
        few, many = steps(1100), steps(2100)  # both go through whole segments of the trace
    finally:
        gc.enable()
    assert many - few < 500


def test_errors_come_without_the_frames_of_the_engine_but_with_what_a_function_raised() -> None:
    with pytest.raises(gradcli.GradcliError) as caught:
        _ = Variable(np.ones((3, 2)), "w") @ Variable(np.ones((3, 2)), "w")
    assert len(caught.traceback) <= 5
    assert caught.value.__suppress_context__
    gradcli.register(
        "failing", "x", "Fails.", lambda x: {}["table"], partials=[lambda m, y, x: 1.0]
    )
    try:
        with pytest.raises(gradcli.GradcliError, match="`failing` failed: KeyError") as caught:
            gnp.failing(1.0)
    finally:
        gradcli.unregister("failing")
    assert isinstance(caught.value.__cause__, KeyError)
