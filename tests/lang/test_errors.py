"""Every error of the front end has a program under `errors/` and, beside it, exactly what the user
sees.

`GRADCLI_UPDATE_GOLDENS=1` writes the expected texts anew; read the difference before you keep it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gradcli.diagnostics import GradcliError
from gradcli.lang.codes import CODES
from gradcli.lang.imports import Importer
from gradcli.lang.parser import parse, read_source
from gradcli.lang.resolve import resolve

ERRORS = Path(__file__).parent / "errors"
PROGRAMS = sorted(path for path in ERRORS.glob("*.tg") if not path.stem.endswith("_module"))


def failure(path: Path) -> GradcliError:
    try:
        source = read_source(path, path.name)
        resolve(parse(source), source, Importer(path).load)
    except GradcliError as error:
        return error
    pytest.fail("no error at all")


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_message(path: Path) -> None:
    shown = str(failure(path)) + "\n"
    expected = path.with_suffix(".expected")
    if os.environ.get("GRADCLI_UPDATE_GOLDENS"):
        expected.write_text(shown, encoding="utf-8")
    assert shown == expected.read_text(encoding="utf-8")


def test_every_code_has_a_program() -> None:
    without_program = {
        "E100",
        "E401",
    }  # bytes that aren't text, and a file over 10 MB: test_hostile.py
    shown = {diagnostic.code for path in PROGRAMS for diagnostic in failure(path).diagnostics}
    assert shown == set(CODES) - without_program
