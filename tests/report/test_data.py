"""The formats for programs: JSON, JSON lines, CSV, NPZ."""

from __future__ import annotations

import csv
import io
import json
from typing import get_args, get_type_hints

import numpy as np

from gradcli.cli import eval as eval_command
from gradcli.cli.app import load_command
from gradcli.diagnostics import Diagnostic, Source, Span
from gradcli.report import FORMATS, render
from gradcli.tasks.evaluation import Evaluation, Expectation


def evaluation(**changes: object) -> Evaluation:
    facts = {
        "outputs": {
            "y": 0.1 + 0.2,
            "v": np.array([1.0, np.nan]),
            "z": 1 + 2j,
            "l": [1, "a", None],
            "i": 3,
            "b": True,
        },
        "gradients": {"y": {"x": np.array([[1.0, 2.0]]), "w": None}},
        "jacobians": {"v": {"x": np.array([[3.0], [4.0]])}, "l": {"x": [5.0, np.array([6.0])]}},
        "hessians": {"y": {"x": np.array([[7.0]]), "w": None, "x,w": 8.0}},
        "printed": ["∂ line"],
    }
    return Evaluation("a.tg", **{**facts, **changes})  # type: ignore[arg-type]


def test_json_is_the_contract_s_object() -> None:
    source = Source("a.tg", "var x = 1.0\ny = w\n")
    remark = Diagnostic(
        "W201", "unconnected", Span(source, 12, 13), help="watch it", reason="constant"
    )
    answer = json.loads(
        render(
            "json", [evaluation(diagnostics=[remark], expectations=[Expectation(7, False, "m")])]
        )
    )
    assert list(answer) == [
        "file", "outputs", "gradients", "jacobians", "hessians", "closed_forms", "printed",
        "printed_values",
        "expectations", "diagnostics",
    ]  # fmt: skip
    assert answer["outputs"] == {
        "y": {"value": 0.30000000000000004, "shape": [], "dtype": "float64"},
        "v": {"value": [1.0, "nan"], "shape": [2], "dtype": "float64"},
        "z": {"value": {"re": 1.0, "im": 2.0}, "shape": [], "dtype": "complex128"},
        "l": {"value": [1, "a", None]},
        "i": {"value": 3, "shape": [], "dtype": "int64"},
        "b": {"value": True, "shape": [], "dtype": "bool"},
    }
    assert answer["gradients"] == {"y": {"x": [[1.0, 2.0]], "w": None}}
    assert answer["jacobians"] == {"v": {"x": [[3.0], [4.0]]}, "l": {"x": [5.0, [6.0]]}}
    assert answer["hessians"] == {"y": {"x": [[7.0]], "w": None, "x,w": 8.0}}
    assert (answer["printed"], answer["printed_values"]) == (["∂ line"], [])
    assert answer["expectations"] == [{"line": 7, "passed": False, "message": "m"}]
    (entry,) = answer["diagnostics"]
    assert (entry["code"], entry["line"], entry["column"], entry["reason"]) == (
        "W201",
        2,
        1,
        "constant",
    )


def test_json_numbers_round_trip() -> None:
    values = [5e-324, 1.7976931348623157e308, 1 / 3, -0.0, float(np.float32(0.1))]
    answer = json.loads(render("json", [Evaluation("a.tg", {"v": np.array(values), "l": values})]))
    assert answer["outputs"]["v"]["value"] == values
    assert answer["outputs"]["l"]["value"] == values


def test_json_nonfinite_numbers_are_strings() -> None:
    answer = json.loads(
        render(
            "json",
            [
                Evaluation(
                    "a.tg", {"a": float("inf"), "b": np.array([[-np.inf]]), "c": complex(0, np.nan)}
                )
            ],
        )
    )
    assert [answer["outputs"][name]["value"] for name in "abc"] == [
        "inf",
        [["-inf"]],
        {"re": 0.0, "im": "nan"},
    ]


def test_timings_stand_in_the_json_of_repeated_runs() -> None:
    assert json.loads(render("json", [evaluation(timings=[1.0, 2.0])]))["timings"] == [1.0, 2.0]
    assert "timings" not in json.loads(render("json", [evaluation(timings=[1.0])]))


def test_several_files_are_an_array_and_several_lines() -> None:
    both = [evaluation(), evaluation()]
    assert len(json.loads(render("json", both))) == 2
    lines = str(render("jsonl", both)).splitlines()
    assert [json.loads(line)["file"] for line in lines] == ["a.tg", "a.tg"]


def test_csv() -> None:
    rows = list(csv.DictReader(io.StringIO(str(render("csv", [evaluation()])))))
    table = {(row["output"], row["wrt"], row["index"]): row["value"] for row in rows}
    assert table["y", "", ""] == "0.30000000000000004"
    assert table["v", "", "1"] == "nan"
    assert table["z", "", ""] == "1+2j"
    assert table["y", "x", "0,1"] == "2.0"
    assert table["y", "w", ""] == ""
    assert table["v", "x/jacobian", "1,0"] == "4.0"
    assert table["l", "x/jacobian", "1,0"] == "6.0"
    assert table["y", "x/hessian", "0,0"] == "7.0"
    assert table["y", "x,w/hessian", ""] == "8.0"
    assert list(rows[0]) == ["file", "output", "wrt", "index", "value"]


def test_npz() -> None:
    data = render("npz", [evaluation(outputs={"file": 1.0, "d": {"w": [1.0]}})])
    assert isinstance(data, bytes)
    with np.load(io.BytesIO(data)) as arrays:
        derivatives = [
            "d2y/dx2",
            "d2y/dxdw",
            "dl/dx.0",
            "dl/dx.1",
            "dv/dx",
            "dy/dx",
        ]
        assert sorted(arrays.files) == sorted(["d.w.0", "file", *derivatives])
        assert arrays["dy/dx"].tolist() == [[1.0, 2.0]]
        assert arrays["dv/dx"].tolist() == [[3.0], [4.0]]
        assert arrays["d2y/dxdw"] == 8.0


def test_every_format_is_an_option() -> None:
    load_command("eval")  # which makes known what the annotations name
    hints = get_type_hints(eval_command.command)
    assert list(FORMATS) == list(get_args(get_args(hints["format"])[0]))
    for name in FORMATS:
        assert render(name, [evaluation()])
