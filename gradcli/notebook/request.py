"""The first line of a cell: what to call the result, what to set, and the options of the run."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import dataclass, fields
from typing import Any, NoReturn

from ..diagnostics import Diagnostic, GradcliError
from ..tasks.evaluation import CHOICES, Options

USAGE = "%%gradcli [NAME] [--set x=value]... [--get y]... [--of y] [--wrt x] [--jacobian] ..."


@dataclass(frozen=True, slots=True)
class Request:
    """What a cell asks for.

    name     the Python variable that gets the result; "" for none
    program  the one that gets the program, which then isn't run; "" to run it
    sets     inputs, `x=value`, or `x` for the Python variable of that name
    gets     what Python variables get: `loss`, `g=dloss/dw`
    """

    name: str
    program: str
    sets: list[str]
    gets: list[str]
    quiet: bool
    options: Options


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise GradcliError(Diagnostic("E001", f"%%gradcli: {message}", help=USAGE))

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise AssertionError("there is no option that would end a notebook")


def parser() -> argparse.ArgumentParser:
    """The options of the first line; those of a run are called as on the command line."""
    found = _Parser(prog="%%gradcli", add_help=False, allow_abbrev=False)
    found.add_argument("name", nargs="?", default="")
    found.add_argument("--program", default="")
    found.add_argument("--set", action="append", default=[], dest="sets")
    found.add_argument("--get", action="append", default=[], dest="gets")
    found.add_argument("--quiet", "-q", action="store_true")
    for name in ("of", "wrt"):
        found.add_argument(f"--{name}", action="append", default=[])
    found.add_argument("--no-grad", action="store_false", dest="grad")
    for name in ("jacobian", "hessian", "hessian-blocks", "sparse", "debug-nan", "ignore-extra"):
        found.add_argument(f"--{name}", action="store_true")
    for name, known in CHOICES.items():
        found.add_argument(f"--{name}", choices=known, default=getattr(Options(), name))
    found.add_argument("--device", default="cpu")
    found.add_argument("--seed", type=int, default=0)
    found.add_argument("--max-steps", type=int)
    return found


def parse_request(line: str) -> Request:
    """Reads the line behind `%%gradcli`. Raises GradcliError (E001)."""
    try:
        given = vars(parser().parse_args(shlex.split(line)))
    except ValueError as error:
        raise GradcliError(Diagnostic("E001", f"%%gradcli: {error}", help=USAGE)) from None
    for name in ("of", "wrt"):
        given[name] = tuple(n for text in given[name] for n in _names(text))
    options: dict[str, Any] = {
        field.name: given.pop(field.name) for field in fields(Options) if field.name in given
    }
    for name in (given["name"], given["program"]):
        if name and not name.isidentifier():
            message = f"%%gradcli: `{name}` can't be the name of a Python variable"
            raise GradcliError(Diagnostic("E001", message, help=USAGE))
    return Request(**given, options=Options(**options))


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
