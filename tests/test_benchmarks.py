"""The benchmarks: what they import of gradcli is there, though no test runs them."""

from __future__ import annotations

import ast
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
FILES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.py"))


@pytest.mark.parametrize("name", FILES)
def test_imports(name: str) -> None:
    for node in ast.walk(ast.parse((FOLDER / name).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gradcli"):
            module = import_module(node.module or "")
            for alias in node.names:
                found = hasattr(module, alias.name)
                assert found or find_spec(f"{node.module}.{alias.name}"), alias.name
