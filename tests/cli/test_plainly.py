"""Command lines that are read without typer mean what typer reads in them."""

from __future__ import annotations

import inspect
import shlex

import pytest

from gradcli.cli import batch, plainly
from gradcli.cli import eval as evaluating
from gradcli.cli.app import load_command

COMMANDS = {"eval": evaluating, "batch": batch}
PLAIN = [
    "a.tg b.tg",
    "-",
    "-e x**2 --set x=3 --set y=-4 --format json -q",
    "--expr=x**2 --set=x=1 --wrt x,y --wrt z --of f",
    "-e -x --mode forward --jacobian --hessian-blocks --no-grad -o r.json --max-memory 2G",
    "-e 1 --color never -v --ignore-extra --device cpu --full",
    "a.tg -- -b.tg",
    "--device=cpu -e x",
]
ROWS = [
    "m.tg",
    "m.tg --rows d.csv -o o.csv --keep id --keep a,b --map price=S --set 'w=[1, 2]' -q",
    "-e x**2 --rows - --rows-format csv --out-format jsonl --reduce mean --report r.json --resume --nan error",
]
OTHERS = [
    "", "--help", "-h", "--schema", "a.tg --precision 3", "-e x --nothing", "-e", "-ex**2", "-e 1 -e 2", "-qv a.tg", "-q=1",
    "--mode sideways a.tg", "--device cuda -e x --precision 3", "--no-config -e x", "--seed 3 a.tg",
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "line"), [*(("eval", x) for x in PLAIN), *(("batch", x) for x in ROWS)]
)
def test_what_is_read(name: str, line: str) -> None:
    words = shlex.split(line)
    read = load_command(name).make_context(name, list(words)).params
    plain = plainly.parameters(name, words)
    assert plain is not None
    assert plain.keys() <= read.keys()
    for key, parameter in inspect.signature(COMMANDS[name].command).parameters.items():
        value = list(read[key]) if isinstance(read[key], tuple) else read[key]
        assert (plain.get(key, parameter.default) or None) == (value or None), key


@pytest.mark.parametrize("line", OTHERS)
def test_what_is_left_to_typer(line: str) -> None:
    words = shlex.split(line)
    assert plainly.parameters("eval", words) is None or not words
