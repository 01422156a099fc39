"""`gradcli.load`, and the programs that it gives, which other processes may get."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradcli


@pytest.mark.parametrize("source", [b"y = 1.0", 5, ["y = 1.0"]])
def test_a_source_is_a_text(source: Any) -> None:
    with pytest.raises(TypeError, match="a str, not"):
        gradcli.load(source=source)


@pytest.mark.parametrize(
    ("option", "value"),
    [("seed", -1), ("seed", 1.5), ("max_steps", 0), ("max_memory", "100M"), ("threads", None)],
)
def test_options_that_are_integers(option: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{option}=.*: it is an integer, . or more$"):
        gradcli.load(source="y = 1.0").with_options(**{option: value})


def test_names_are_strings() -> None:
    program = gradcli.load(source="var x = 3.0; y = x")
    with pytest.raises(TypeError, match=r"^wrt=\[3\]: it is a name, or a list of names$"):
        program.with_options(wrt=[3])
    with pytest.raises(TypeError, match=r"^the name of an input is a string, not 1$"):
        program.run({1: 2.0})  # type: ignore[dict-item]


def test_a_program_can_be_pickled() -> None:
    program = gradcli.load(source="var x = 3.0\nimport nn\ny = nn.mse(x, 1.0)")
    again = pickle.loads(pickle.dumps(program.with_options(hessian=True)))
    assert again.run(x=2.0).gradients == {"y": {"x": 2.0}}
    assert again.run().hessians == {"y": {"x": 2.0}}


def test_a_pickled_program_needs_no_file(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "b.tg").write_text('import "c.tg" as c\nfn f(x) = c.g(x) + 1.0')
    (tmp_path / "parts" / "c.tg").write_text("fn g(x) = x**2")
    (tmp_path / "a.tg").write_text('import "parts/b.tg" as b\nvar x = 3.0\noutput y = b.f(x)')
    program = gradcli.load(tmp_path / "a.tg")
    text = pickle.dumps(program)
    for file in tmp_path.rglob("*.tg"):
        file.unlink()
    found = pickle.loads(text).run()
    assert found.file == str(tmp_path / "a.tg")
    assert (found.outputs, found.gradients) == ({"y": 10.0}, {"y": {"x": 6.0}})


def test_a_pickled_expression_has_its_inputs() -> None:
    program = pickle.loads(pickle.dumps(gradcli.load(source="e * x")))
    assert program.run(x=2.0, e=3.0).gradients == {"result": {"x": 3.0, "e": 2.0}}


@pytest.mark.parametrize("inputs", [[1.0], np.ones(2), 1.0, "x"])
def test_inputs_are_a_mapping(inputs: Any) -> None:
    with pytest.raises(TypeError, match=r"run.. takes a mapping of inputs, not"):
        gradcli.load(source="var x; y = x").run(inputs)


def test_a_path_is_a_path() -> None:
    with pytest.raises(TypeError, match=r"load.. takes a path, not bytes"):
        gradcli.load(b"a.tg")  # type: ignore[arg-type]
