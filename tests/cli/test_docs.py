"""docs/cli.md and cli/completion/table.json are made from the commands. To renew them:
`python tests/cli/test_docs.py`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

from gradcli.cli import completion
from gradcli.cli.app import COMMANDS, app, load_command
from gradcli.cli.completion.candidates import LISTS
from gradcli.cli.completion.line import commands

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


def page() -> str:
    group: Any = typer.main.get_command(app)
    group.params = [
        p for p in group.params if "completion" not in p.name
    ]  # their help depends on the shell
    parts = [
        "# The command line\n\nMade from `--help` by tests/cli/test_docs.py.\n",
        section("gradcli", group),
    ]
    parts += [section(f"gradcli {name}", load_command(name)) for name in COMMANDS]
    return "\n".join(parts)


def section(name: str, command: Any) -> str:
    context = command.make_context(
        name, [], resilient_parsing=True, terminal_width=100, help_option_names=["-h", "--help"]
    )
    return f"## {name}\n\n```text\n{command.get_help(context)}\n```\n"


def test_the_page_is_what_help_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


# ---- completion ----------------------------------------------------------------------------------

TABLE = Path(completion.__file__).with_name("table.json")
# Metavars of values that nobody could list.
FREE = {"EXPR", "N", "X", "SECONDS", "SIZE", "CMD", "ADDRESS", "COLUMN=NAME", "COLUMN,..."}
KNOWN = {"FILE", "DATA", "OUT", "NAME=VALUE", "NAME=LOW:HIGH", "NAME=VALUE,..."}


def table() -> str:
    """A line a command, and one an option: names, metavar, choices, whether it repeats, help."""
    group: Any = typer.main.get_command(app)
    found = {"": group, **{name: load_command(name) for name in COMMANDS}}
    return "{" + ",\n".join(f"{json.dumps(n)}: {entry(c)}" for n, c in found.items()) + "}\n"


def entry(command: Any) -> str:
    arguments = [p.metavar for p in command.params if p.param_type_name == "argument"]
    options = [option(p) for p in command.params if p.param_type_name == "option"]
    options.append([["-h", "--help"], "", [], False, "Show this message and exit"])
    lines = ",\n  ".join(json.dumps(o, ensure_ascii=False) for o in options)
    head = json.dumps([first_sentence(command.help), *arguments[:1], *[""][len(arguments) :]])
    return f"{head[:-1]}, [\n  {lines}]]"


def option(parameter: Any) -> list[Any]:
    is_flag = parameter.is_flag or parameter.name in ("install_completion", "show_completion")
    metavar = "" if is_flag else parameter.metavar or "X"
    names = [*parameter.opts, *parameter.secondary_opts]
    choices = list(getattr(parameter.type, "choices", []))
    return [names, metavar, choices, parameter.multiple, first_sentence(parameter.help)]


def first_sentence(help: str | None) -> str:
    return " ".join((help or "").split()).split(". ")[0].removesuffix(".")


def test_the_table_has_all_options() -> None:
    assert TABLE.read_text(encoding="utf-8") == table()


def test_every_value_is_completed_or_free() -> None:
    for command in commands().values():
        for o in command.options:
            is_known = o.choices or "|" in o.metavar or o.metavar in KNOWN or o.names[0] in LISTS
            assert not o.metavar or is_known or o.metavar in FREE, o


if __name__ == "__main__":
    TABLE.write_text(table(), encoding="utf-8")  # of which the page is made, too
    PAGE.write_text(page(), encoding="utf-8")
