"""What `explain` says about the codes of the front end is true."""

from __future__ import annotations

import pytest

from gradcli.diagnostics import GradcliError, Source
from gradcli.lang.codes import CODES
from gradcli.lang.imports import Importer
from gradcli.lang.parser import parse
from gradcli.lang.resolve import resolve


@pytest.mark.parametrize("code", [code for code, entry in CODES.items() if entry.example])
def test_example_shows_its_code(code: str) -> None:
    source = Source("example.tg", CODES[code].example)
    with pytest.raises(GradcliError) as caught:
        resolve(parse(source), source, Importer().load)
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == [code]
