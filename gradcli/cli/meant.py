"""What somebody may mean with a command line that doesn't parse."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from ..diagnostics import Diagnostic, did_you_mean
from ..tasks.programs import IS_FORMULA
from .running import given_arguments

# What other tools call it, and what that is here.
_ELSEWHERE = {
    "help": "gradcli --help",
    "version": "gradcli --version",
    "run": "gradcli eval",
    "compute": "gradcli eval",
    "grad": "gradcli eval",
    "gradient": "gradcli eval",
    "diff": "gradcli diff",
    "test": "gradcli check",
    "verify": "gradcli check",
    "compare": "gradcli diff",
    "format": "gradcli fmt",
    "docs": "gradcli ops",
}


def diagnose(error: Any, commands: Sequence[str]) -> Diagnostic:
    """A click error as a diagnostic of ours, with the closest thing that would have been right."""
    message = " ".join(error.format_message().split())
    message = re.split(r"\s*\(?(?:Did you mean|Possible options)", message)[0].rstrip(".")
    message = re.sub(r"not a valid int(?: range)?$", "not an integer", message)
    message = re.sub(r"not a valid float(?: range)?$", "not a number", message)
    context = getattr(error, "ctx", None)
    parameters = context.command.params if context else ()
    help = ""
    wrong = getattr(error, "option_name", "")
    if type(error).__name__ == "BadOptionUsage":
        is_missing = "requires" in message
        message = f"`{wrong}` needs a value" if is_missing else f"`{wrong}` takes no value"
        command = next(filter(commands.__contains__, given_arguments()), "COMMAND")
        help = f"`gradcli {command} --help` has examples" if is_missing else ""
    elif wrong:
        message = f"no such option: `{wrong}`"
        help = _option_for(wrong, parameters)
        if wrong in ("-e", "--expr", "--set") and not help:
            help = "a command comes first: `gradcli eval -e 'x**2' --set x=3`"
    elif found := re.match(r"Got unexpected extra argument(?:s|\(s\))? \((.*)\)", message):
        message = f"too many arguments: `{found[1]}`"
        if "--rows" in _names(parameters):
            help = f"one program goes over the data that --rows names: `--rows {found[1]}`"
    elif found := re.match(r"No such command '(.*)'", message):
        message = f"no such command: `{found[1]}`"
        help = _command_for(found[1], commands)
    elif found := re.search(r"'([^']*)' is not one of (.*)", message):
        help = did_you_mean(found[1], re.findall(r"'([^']*)'", found[2]))
    if not help and context:
        help = f"`{context.command_path} --help` lists what there is"
        if wrong.startswith("--") and "--set" in _names(parameters):
            help = f"an input is given with `--set {wrong[2:]}=…`; {help}"
    return Diagnostic("E001", message[:1].lower() + message[1:], help=help)


def _command_for(word: str, commands: Sequence[str]) -> str:
    """What somebody may mean with a command that there isn't: a program, or a command of another
    name."""
    if word in _ELSEWHERE:
        return f"did you mean `{_ELSEWHERE[word]}`?"
    if os.path.exists(word) or word.endswith(".tg"):
        return f"a command comes first: `gradcli eval {word}`"
    if IS_FORMULA.search(word):
        return f"a command comes first: `gradcli eval -e '{word}'`"
    return did_you_mean(word, commands) or f"the commands are {', '.join(commands)}"


def _option_for(wrong: str, parameters: Sequence[Any]) -> str:
    """What somebody may mean with an option that there isn't: one that has the word as a value, one
    that ends as it does, or one of a similar name."""
    word, names = wrong.lstrip("-"), _names(parameters)
    values = [
        f"`{p.opts[-1]} {word}`" for p in parameters if word in getattr(p.type, "choices", ())
    ]
    long = [n for n in names if n.startswith("--")]
    ends = [f"`{n}`" for n in long if n.endswith(f"-{word}") or wrong.endswith(n[1:])]
    if values:
        return f"write {' or '.join(values)}"
    return did_you_mean(wrong, names) or (f"did you mean {' or '.join(ends)}?" if ends else "")


def _names(parameters: Sequence[Any]) -> list[str]:
    return [name for parameter in parameters for name in parameter.opts]
