"""docs/cli.md is made from the help texts. To renew it: `python tests/cli/test_docs.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from gradcli.cli.app import COMMANDS, app, load_command

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


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
