"""The formats of `check`, read as those read them that they are for."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import xmlschema
from jsonschema import Draft4Validator

from gradcli.diagnostics import Source
from gradcli.report import CHECK_FORMATS, Style, render_checks
from gradcli.tasks.check.checking import check
from gradcli.tasks.check.results import Check, CheckOptions
from gradcli.tasks.programs import parse_program

DATA = Path(__file__).parent.parent / "data"
QUICK = CheckOptions(methods=("forward", "complex", "differences", "taylor"))

RIGHT = "var x = 2.0\ny = x**2\nif x > 1.0 { z = y } else { z = 2 * y }\nexpect y == 4.0\noutput z"
WRONG = """fn f(x) { return x**2 } backward (dy) { return 3 * x * dy }
fn g(x) {
    return f(x)
}
var x = 2.0
y = g(x)
expect y == 5.0"""
KINK = "var x = [0.0, 1.0]\ny = sum(abs(x))"
BROKEN = "var x = [1.0]\ny = x[3]"


def checked(name: str, text: str, **options: Any) -> Check:
    return check(
        parse_program(Source(name, text)), {}, CheckOptions(methods=QUICK.methods, **options)
    )


ALL = [
    checked("right.tg", RIGHT),
    checked("a folder/wrong.tg", WRONG),
    checked("<kink>", KINK),
    checked("broken.tg", BROKEN),
]
BY_NAME = {c.file: c for c in ALL}


@pytest.mark.parametrize("format", CHECK_FORMATS)
def test_every_format_renders_no_check_and_several(format: str) -> None:
    assert isinstance(render_checks(format, []), str)
    assert render_checks(format, ALL)


# ---- text ----------------------------------------------------------------------------------------


def test_text() -> None:
    text = render_checks("text", [BY_NAME["right.tg"]])
    assert text.splitlines() == [
        "right.tg",
        "         reverse mode  forward mode  complex step  differences  Taylor order",
        text.splitlines()[2],
        "  1 of 1 expectations held",
        "  line 3: `x > 1.0` held; flips when x moves by 1",
        "  the same path for x in (1.0, inf)",
        "1 of 1 gradients verified by independent methods, 0 undecided",
        "2 passed, 0 failed, 0 skipped",
    ]
    row = r"  ∂z/∂x             4      ✓ 0 ulps      ✓ 0 ulps      ✓ \de-\d\d        ✓ 2\.00  1\d digits"
    assert re.fullmatch(row, text.splitlines()[2])


def test_text_of_a_failure_ends_with_the_counts() -> None:
    text = render_checks("text", ALL)
    assert (
        "error[E602]: ∂y/∂x is wrong: reverse mode gives 6; forward mode, complex step and differences 4"
        in text
    )
    assert "--> a folder/wrong.tg:3:12" in text
    assert "the rule of `f` gives 1.5 times what the operation itself says" in text
    assert "in `g`, called at a folder/wrong.tg:6:5" in text
    assert "kink of `abs` in line 2" in text
    assert (
        "  ✗ E303: index 3 is out of range"
        in text.splitlines()[text.splitlines().index("broken.tg") + 1]
    )
    assert text.splitlines()[-2:] == [
        "1 of 3 gradients verified by independent methods, 1 at a kink, 0 undecided",
        "3 passed, 3 failed, 0 skipped",
    ]


@pytest.mark.parametrize(
    ("rule", "ours", "theirs", "times"),
    [
        ("x * dy * (2 + 2e-9)", "4.000000004", "4", "-10.00473715 for -10.00473714"),
        ("x * dy * 2.0001", "4.0002", "4", "-10.005237 for -10.004737"),
    ],
)
def test_numbers_have_as_many_digits_as_tell_them_apart(
    rule: str, ours: str, theirs: str, times: str
) -> None:
    source = f"fn f(x) {{ return x**2 }} backward (dy) {{ return {rule} }}; var x = 2.0; y = f(x)"
    text = render_checks("text", [checked("a.tg", source)])
    methods = "forward mode, complex step and differences"
    assert f"reverse mode gives {ours}; {methods} {theirs}" in text
    assert times in text


def test_colours_do_not_move_columns() -> None:
    plain, coloured = (render_checks("text", ALL, Style(color=color)) for color in (False, True))
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain


def test_labels_of_second_derivatives() -> None:
    source = "var x = [0.3, 0.2]; var m = [[1.5], [-0.4]]; y = sum(x) * sum(m)**2"
    text = render_checks("text", [checked("<mixed>", source, order=2)])
    labels = [line.split()[0] for line in text.splitlines()[2:7]]
    assert [label.split("[")[0] for label in labels] == [
        "∂y/∂x",
        "∂²y/∂x²",
        "∂y/∂m",
        "∂²y/∂m²",
        "∂²y/∂x",
    ]
    assert re.fullmatch(r"∂²y/∂x\[[01]\]∂m\[[01],0\]", labels[4])


# ---- json ----------------------------------------------------------------------------------------


def test_json() -> None:
    right = json.loads(render_checks("json", [BY_NAME["right.tg"]]))
    assert (right["file"], right["passed"], right["failed"], right["skipped"]) == (
        "right.tg",
        2,
        0,
        0,
    )
    (gradient,) = right["gradients"]
    assert (gradient["output"], gradient["variable"], gradient["verdict"]) == ("z", "x", "verified")
    assert gradient["digits"] >= 9
    assert {m["method"]: m["verdict"] for m in gradient["methods"]} == dict.fromkeys(
        QUICK.methods, "agree"
    )
    assert right["path"]["valid"] == {
        "x": {"low": 1.0, "low_included": False, "high": "inf", "high_included": False}
    }
    several = json.loads(render_checks("json", ALL))
    assert [entry["file"] for entry in several] == [c.file for c in ALL]
    (blamed,) = several[1]["blamed"]
    assert (blamed["operation"], blamed["line"], blamed["factor"]) == ("f", 3, pytest.approx(1.5))
    (kink,) = several[2]["kinks"]
    assert (kink["variable"], kink["left"], kink["right"]) == (
        "x[0]",
        pytest.approx(-1.0),
        pytest.approx(1.0),
    )
    assert several[3]["diagnostics"][0]["code"] == "E303"


# ---- JUnit ---------------------------------------------------------------------------------------

JUNIT = xmlschema.XMLSchema(DATA / "junit-10.xsd")


def test_junit_fits_its_schema_and_counts() -> None:
    text = render_checks("junit", ALL)
    JUNIT.validate(text)
    root = ElementTree.fromstring(text)
    for suite, found in zip(root, ALL, strict=True):
        passed, failed, skipped = found.counts()
        numbers = {
            name: int(suite.get(name, "")) for name in ("tests", "failures", "errors", "skipped")
        }
        assert numbers["tests"] == passed + failed + skipped == len(suite)
        assert (numbers["failures"] + numbers["errors"], numbers["skipped"]) == (failed, skipped)
    assert root.get("tests") == str(sum(len(suite) for suite in root))


def test_junit_has_a_case_a_gradient_with_the_methods_inside() -> None:
    root = ElementTree.fromstring(render_checks("junit", [BY_NAME["a folder/wrong.tg"]]))
    cases = {case.get("name"): case for case in root.iter("testcase")}
    assert list(cases) == ["expect in line 7", "∂y/∂x"]
    failure = cases["∂y/∂x"].find("failure")
    assert failure is not None
    assert "reverse mode gives 6; forward mode, complex step and differences 4" in (
        failure.get("message") or ""
    )
    assert "a folder/wrong.tg:3:12" in (failure.text or "")
    said = cases["∂y/∂x"].findtext("system-out", "").splitlines()
    assert [line.split(":")[0] for line in said] == [
        "forward mode",
        "complex step",
        "differences",
        "Taylor order",
    ]
    assert said[1] == "complex step: disagree: reverse mode gives 6; complex step 4"


def test_junit_survives_any_text() -> None:
    name = "bad\x00\x1b[31m\ud800<&>.tg"
    text = render_checks("junit", [Check(name, diagnostics=BY_NAME["broken.tg"].diagnostics)])
    JUNIT.validate(text)
    root = ElementTree.fromstring(text.encode())
    assert root[0].get("errors") == "1"


# ---- GitHub --------------------------------------------------------------------------------------


def test_github_annotates_the_lines() -> None:
    lines = render_checks("github", ALL).splitlines()
    annotations = [
        re.fullmatch(
            r"::(error|notice) file=([^,]+),line=(\d+),col=(\d+),title=([^:]+)::(.+)", line
        )
        for line in lines[:-2]
    ]
    assert all(annotations)
    places = [(a[1], a[2], a[3], a[5]) for a in annotations if a]
    assert ("error", "a folder/wrong.tg", "3", "E602") in places
    assert ("error", "a folder/wrong.tg", "7", "E601") in places
    assert ("notice", "<kink>", "2", "kink of abs") in places
    assert ("error", "broken.tg", "2", "E303") in places
    assert "passed" in lines[-1]


def test_github_escapes_what_would_end_an_annotation() -> None:
    (line, *_) = render_checks(
        "github", [checked("a,b:c%.tg", "expect 1.0 == 2.0 # %\n")]
    ).splitlines()
    assert "file=a%2Cb%3Ac%25.tg," in line


# ---- SARIF ---------------------------------------------------------------------------------------

SARIF = Draft4Validator(json.loads((DATA / "sarif-2.1.0-rtm.5.json").read_text()))


def test_sarif_conforms_to_its_schema() -> None:
    log = json.loads(render_checks("sarif", ALL))
    SARIF.validate(log)
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert {result["ruleId"] for result in run["results"]} <= rules
    assert {result["level"] for result in run["results"]} == {"error", "note"}
    uris = {
        result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for result in run["results"]
    }
    assert uris == {"a%20folder/wrong.tg", "%3Ckink%3E", "broken.tg"}
    wrong = next(result for result in run["results"] if result["ruleId"] == "E602")
    assert wrong["locations"][0]["physicalLocation"]["region"] == {
        "startLine": 3,
        "startColumn": 12,
        "endLine": 3,
        "endColumn": 16,
    }
    assert wrong["relatedLocations"][0]["message"]["text"] == "in `g`"
