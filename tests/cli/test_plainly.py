"""Command lines that are read without typer mean what typer reads in them."""

from __future__ import annotations

import inspect
import shlex

import pytest

from gradcli.cli import eval as eval_command
from gradcli.cli import plainly
from gradcli.cli.app import load_command

PLAIN = [
    "a.tg b.tg",
    "-",
    "-e x**2 --set x=3 --set y=-4 --format json -q",
    "--expr=x**2 --set=x=1 --wrt x,y --wrt z --of f",
    "-e -x --mode forward --jacobian --hessian-blocks --no-grad -o r.json --max-memory 2G",
    "-e 1 -e 2 --color never -v --ignore-extra --device cpu --full",
    "a.tg -- -b.tg",
]
OTHERS = [
    "", "--help", "-h", "--schema", "a.tg --precision 3", "-e x --nothing", "-e", "-ex**2", "-qv a.tg", "-q=1",
    "--mode sideways a.tg", "--no-config -e x", "--seed 3 a.tg",
]  # fmt: skip


@pytest.mark.parametrize("line", PLAIN)
def test_what_is_read(line: str) -> None:
    words = shlex.split(line)
    read = load_command("eval").make_context("eval", list(words)).params
    plain = plainly.parameters(words)
    assert plain is not None
    assert plain.keys() <= read.keys()
    for name, parameter in inspect.signature(eval_command.command).parameters.items():
        value = list(read[name]) if isinstance(read[name], tuple) else read[name]
        assert (plain.get(name, parameter.default) or None) == (value or None), name


@pytest.mark.parametrize("line", OTHERS)
def test_what_is_left_to_typer(line: str) -> None:
    words = shlex.split(line)
    assert plainly.parameters(words) is None or not words
