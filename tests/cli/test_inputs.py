"""Inputs from outside: files of every kind, and what is said about bad ones. (`--set` literals: see
test_eval.)"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradcli.diagnostics import GradcliError
from gradcli.tasks.inputs import Files, read_inputs
from gradcli.tasks.inputs import read_mapping as mapping_in
from gradcli.tasks.inputs import read_value as value_in

Run = Callable[..., Any]


def read_value(text: str) -> Any:
    with Files() as files:
        return value_in(text, files)


def read_mapping(path: str) -> Any:
    with Files() as files:
        return mapping_in(path, files)


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_csv_of_one_column_is_a_vector(tmp_path: Path) -> None:
    assert read_value(write(tmp_path / "x.csv", "x\n1.0\n2.5\n\n")).tolist() == [1.0, 2.5]


def test_csv_of_several_columns_is_a_matrix(tmp_path: Path) -> None:
    assert read_value(write(tmp_path / "x.csv", "1,2\n3,nan\n")).shape == (2, 2)
    assert read_value(write(tmp_path / "h.csv", "a, b\n1, 2\n")).tolist() == [[1.0, 2.0]]


def test_an_empty_csv_is_an_empty_vector(tmp_path: Path) -> None:
    assert read_value(write(tmp_path / "x.csv", "\n")).shape == (0,)


def test_numpy_files(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(3.0))
    np.savez(tmp_path / "one.npz", w=np.eye(2))
    np.savez(tmp_path / "two.npz", w=np.eye(2), b=np.zeros(2))
    assert read_value(f"{tmp_path}/x.npy").tolist() == [0.0, 1.0, 2.0]
    assert read_value(f"{tmp_path}/one.npz").shape == (2, 2)
    assert read_value(f"{tmp_path}/two.npz:b").shape == (2,)
    assert sorted(read_mapping(f"{tmp_path}/two.npz")) == ["b", "w"]


def test_json_mapping(tmp_path: Path) -> None:
    text = json.dumps(
        {
            "x": [1, "nan", "-inf"],
            "layer": {"w": [[1.0]], "inner": {"b": True}},
            "z": {"re": 1, "im": -2},
            "e": [],
        }
    )
    values = read_mapping(write(tmp_path / "v.json", text))
    assert np.isnan(values["x"][1])
    assert values["x"][2] == float("-inf")
    assert {k: v for k, v in values.items() if k != "x"} == {
        "layer.w": [[1.0]],
        "layer.inner.b": True,
        "z": 1 - 2j,
        "e": [],
    }


def test_a_file_at_set_wins_over_inputs(tmp_path: Path) -> None:
    path = write(tmp_path / "v.json", '{"x": 1.0, "y": 2.0}')
    values = read_inputs([f"x=@{write(tmp_path / 'x.json', '[3.0]')}"], path)
    assert values == {"x": [3.0], "y": 2.0}


@pytest.mark.parametrize(
    ("name", "text", "code", "message"),
    [
        ("x.csv", "a\n1\ntwo\n", "E005", 'x.csv:3: column `a`: "two" is not a number'),
        ("x.csv", "1,2\n3\n", "E005", "x.csv:2: expected 2 cells, got 1"),
        ("x.csv", "1_0\n2\n1_0\n", "E005", 'x.csv:1: column `1`: "1_0" is not a number'),
        ("x.json", "{", "E005", "x.json:1:2: not JSON"),
        ("x.json", "[" * 100_000, "E005", "nested deeper than 200 levels"),
        ("x.npy", "not numpy", "E005", "it is not a NumPy file"),
        ("x.npz", "not numpy", "E005", "it is not a NumPy file"),
        ("x.txt", "\0", "E002", "don't know how to read this"),
        ("x.csv", "a;b\n1;\n", "E005", "x.csv:2: column `b` has no value"),
        ("x.csv", 'a\n1\n""\n2\n""\n', "E005", "x.csv:3: column `a` has no value; nor in line 5"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, text: str, code: str, message: str) -> None:
    with pytest.raises(GradcliError) as caught:
        read_value(write(tmp_path / name, text))
    assert caught.value.diagnostics[0].code == code
    assert caught.value.exit_code == 2
    assert message in str(caught.value)


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "no.csv", tmp_path / "no.npz", tmp_path / "no.npy"):
        with pytest.raises(GradcliError, match="No such file") as caught:
            read_value(str(path))
        assert caught.value.diagnostics[0].code == "E002"


def test_python_objects_are_never_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "x.npz", x=np.array([{}], dtype=object), allow_pickle=True)
    for name in ("x.npy", "x.npz:x"):
        with pytest.raises(GradcliError, match="Python objects"):
            read_value(f"{tmp_path}/{name}")


def test_which_array(tmp_path: Path) -> None:
    np.savez(tmp_path / "two.npz", w=np.eye(2), b=np.zeros(2))
    with pytest.raises(GradcliError, match="which of its values"):
        read_value(f"{tmp_path}/two.npz")
    with pytest.raises(GradcliError, match="it has no `c`"):
        read_value(f"{tmp_path}/two.npz:c")


def test_inputs_are_a_mapping(tmp_path: Path) -> None:
    with pytest.raises(GradcliError, match="expected a mapping"):
        read_mapping(write(tmp_path / "v.json", "[1, 2]"))


@pytest.mark.parametrize("text", ["x", "=3", "x=", " = ", "x=@"])
def test_malformed_assignments(text: str) -> None:
    with pytest.raises(GradcliError, match="NAME=VALUE") as caught:
        read_inputs([text])
    assert caught.value.exit_code == 2


NETWORK = """
import nn
const x = [[0.0, 1.0], [1.0, 1.0]]
net = nn.MLP([2, 3, 1])
for step in range(STEPS) { [g] = grad(mean(net(x)**2), [net.layers[0].w]); net.layers[0].w :-= 0.1 * g }
output loss = mean(net(x)**2)
output net
"""


@pytest.mark.parametrize("format", ["npz", "json"])
def test_weights_are_saved_and_loaded_by_path(gradcli: Run, tmp_path: Path, format: str) -> None:
    """Trained with one seed, loaded under another: the file alone decides."""
    train, use = tmp_path / "train.tg", tmp_path / "use.tg"
    train.write_text(NETWORK.replace("STEPS", "20"))
    use.write_text(NETWORK.replace("STEPS", "0"))
    loss = gradcli("eval train.tg --no-grad --format json").json["outputs"]["loss"]["value"]
    assert gradcli(f"eval train.tg --no-grad --format {format} -o out.{format}").code == 0
    weights = tmp_path / "out.npz"
    if format == "json":  # as with `jq '.outputs | map_values(.value)'`
        values = {
            name: output["value"]
            for name, output in json.loads((tmp_path / "out.json").read_text())["outputs"].items()
        }
        weights = tmp_path / "weights.json"
        weights.write_text(json.dumps(values))
    other = gradcli("eval use.tg --seed 1 --no-grad --format json").json["outputs"]["loss"]["value"]
    assert other != pytest.approx(loss)
    again = gradcli(
        f"eval use.tg --seed 1 --no-grad --format json --ignore-extra --inputs {weights.name}"
    )
    assert again.json["outputs"]["loss"]["value"] == loss
    refused = gradcli(f"eval use.tg --inputs {weights.name}")
    assert refused.code == 2
    assert "declares no `loss`" in refused.err


def test_a_variable_of_an_instance_by_its_path(gradcli: Run, tmp_path: Path) -> None:
    (tmp_path / "m.tg").write_text(
        "module M() { var w; fn call(x) = w * x }\nlayers = [M()]\ny = layers[0](2.0)\n"
    )
    shown = gradcli("eval m.tg --set layers[0].w=3")
    assert (shown.out, shown.code) == ("y                  6.0\n∂y/∂layers[0].w    2.0\n", 0)
    missing = gradcli("eval m.tg")
    assert missing.code == 2
    assert "E004" in missing.err
    assert "`--set layers[0].w=…`" in missing.err
    misspelt = gradcli("eval m.tg --set layers[0].w=3 --set layers[0].v=1")
    assert misspelt.code == 2
    assert "did you mean `layers[0].w`?" in misspelt.err


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x\n1\n2\n", "[1. 2.]"),
        ("a,b\n1,2\n", "[[1. 2.]]"),
        ("", "[]"),
        (
            "only\n",
            "data.csv: it has no rows\n  = help: a header needs lines of numbers below it\n",
        ),
        ("1;2;3\n", "[[1. 2. 3.]]"),
        ("1,2\n3,oops\n", 'data.csv:2: column `2`: "oops" is not a number\n'),
    ],
)
def test_a_line_of_csv_is_a_header_where_numbers_follow(
    gradcli: Run, text: str, shown: str
) -> None:
    Path("data.csv").write_text(text, encoding="utf-8")
    result = gradcli("eval", "--no-grad", "-e", "x", "--set", "x=@data.csv")
    assert shown in result.out + result.err
    assert result.code == (2 if "data.csv" in shown else 0)


@pytest.mark.parametrize(
    ("text", "value"),
    [("0e-999", "0.0"), ("0.000e5", "0.0"), ("5e-324", "5e-324"), ("0.0j", "0.0+0.0j")],
)
def test_small_numbers(gradcli: Run, text: str, value: str) -> None:
    assert gradcli("eval", "-e", f"y = {text}").out.split() == ["y", value]


@pytest.mark.parametrize("text", ["1e-400", "2e-324", "0.001e-330", "1e-400j", "1_0e-4_00"])
def test_numbers_that_would_be_zero_are_refused(gradcli: Run, text: str) -> None:
    assert (
        "error[E104]: this number is too small for a float, which would be 0\n"
        in gradcli("eval", "-e", f"y = {text}").err
    )
    assert gradcli("eval", "-e", "x", "--set", f"x={text}").code == 2


def test_all_inputs_that_are_missing_are_named(gradcli: Run) -> None:
    done = gradcli("eval", "-e", "a * b + c * d", "--set", "c=1.0")
    assert done.code == 2
    assert "`a` has no value" in done.err
    assert "it must come from outside, and so must `b`, `d`\n" in done.err
    done = gradcli("eval", "-e", "a * b", "--set", "b=1.0")
    assert "it must come from outside\n" in done.err
