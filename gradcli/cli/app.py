"""The command line as a whole: the list of commands, and what is wrong with a command line that
doesn't parse."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core
from typer._completion_shared import _completion_scripts  # what --install-completion installs

from ..diagnostics import Diagnostic, GradcliError, printable
from . import options as shared
from .completion.line import FILES, commands
from .completion.scripts import SCRIPTS
from .line_editor import is_at_terminal
from .output import write
from .standard_output import printing
from .terminal import Terminal

if TYPE_CHECKING:
    from .config import Defaults

# A command is a file of this folder with a function `command`; its docstring is the help.
COMMANDS = (
    "eval",
    "check",
    "diff",
    "batch",
    "symbolic",
    "why",
    "trace",
    "repl",
    "plot",
    "fmt",
    "lint",
    "lsp",
    "ops",
    "explain",
)

# Those whose answers a JSON schema describes.
JSON = ("eval", "check", "diff", "batch", "symbolic", "why", "trace", "lint", "ops")

_CONFIG = "gradcli.settings"  # of a context: what the project sets
# Metavars of what is read, written or run: a second one wouldn't override the first, but lose it.
_ONCE = ("EXPR", "FILE", "DATA", "OUT", "CMD")
_UsageError: Any = typer.BadParameter.__mro__[1]  # click's, wherever this typer keeps its click
_ClickException: Any = _UsageError.__mro__[1]


class Commands(typer.core.TyperGroup):
    """Loads a command's file when the command is asked for: a call pays for one command, not for
    all, and a list of them for none."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return load_command(cmd_name) if cmd_name in COMMANDS else None

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reads the command line up to the command; prints the help."""
        with printing():
            return list(super().parse_args(ctx, args))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes a line a command, from the table that completion has of them."""
        told = commands()
        room = formatter.width - 6 - max(map(len, COMMANDS))
        rows = [
            (name, shorten(f"{told[name].help}.", room, placeholder="...")) for name in COMMANDS
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class Command(typer.core.TyperCommand):
    """A command with the defaults that its project sets, unless --no-config is given."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        no_config: dict[str, Any] = {
            "is_flag": True,
            "is_eager": True,
            "expose_value": False,
            "callback": _configure,
        }
        help = "Read no settings file: neither gradcli.toml nor pyproject.toml."
        self.params.append(
            typer.core.TyperOption(param_decls=["--no-config"], help=help, **no_config)
        )

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reads the command line. Raises GradcliError (E001) where an option that takes one file or
        program is given another, or where one that takes a file is given an empty name."""
        given, _, order = self.make_parser(ctx).parse_args(list(args))
        for option in order:
            if option.metavar in FILES and given[str(option.name)] in ("", [""]):
                message = f"`{option.opts[-1]}` is given an empty name"
                raise GradcliError(Diagnostic("E001", message, help="it takes a file"))
            if option.metavar in _ONCE and not option.multiple and order.count(option) > 1:
                message = f"`{option.opts[-1]}` is given {order.count(option)} times"
                raise GradcliError(Diagnostic("E001", message, help="it takes one: give it once"))
        with printing():  # the help
            return list(super().parse_args(ctx, args))

    def invoke(self, ctx: Any) -> Any:
        """Says which settings came from where, and runs the command."""
        told = {key: ctx.params[key] for key in ("color", "quiet", "verbose") if key in ctx.params}
        if _CONFIG in ctx.meta:
            _take_settings(ctx.meta[_CONFIG], Terminal(**told), ctx)
        return super().invoke(ctx)


def _configure(ctx: Any, parameter: Any, is_off: bool) -> None:
    """Takes the defaults of the project; called before other options are looked at."""
    if is_off or ctx.resilient_parsing:
        return
    from .config import defaults

    found = ctx.meta[_CONFIG] = defaults(ctx.info_name, COMMANDS, load_command)
    ctx.default_map = found.map


def _take_settings(found: Defaults, terminal: Terminal, ctx: Any) -> None:
    """Says which settings the command has, and drops a format where the name of a file on the
    command line says it."""
    from .endings import says_format

    for note in found.notes:
        terminal.diagnostic(note)
    for name, (key, value, place) in found.settings.items():
        if ctx.get_parameter_source(name).name != "DEFAULT_MAP":
            continue
        if says_format(name, ctx.params):
            ctx.params[name] = None
        else:
            terminal.note(f"setting: {key} = {printable(str(value))} ({place})")


@cache
def load_command(name: str) -> Any:
    """The click command of the file `name`.py."""
    single = typer.Typer(
        rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False
    )
    module = importlib.import_module(f".{name}", __package__)
    vars(module).update(typer=typer, options=shared)  # which its annotations name
    single.command(name, cls=Command)(module.command)
    command: Any = typer.main.get_command(single)
    if name in JSON:
        help = "Print the JSON schema of the command's JSON, and run nothing."
        flag: dict[str, Any] = {
            "is_flag": True,
            "is_eager": True,
            "expose_value": False,
            "callback": _show_schema,
        }
        command.params.append(typer.core.TyperOption(param_decls=["--schema"], help=help, **flag))
    return command


def _show_schema(ctx: Any, parameter: Any, is_asked: bool) -> None:
    if is_asked and not ctx.resilient_parsing:
        from ..report.schemas import text

        write(text(ctx.info_name), None)
        ctx.exit()


app = typer.Typer(
    cls=Commands,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(ctx: typer.Context, asked: bool) -> None:
    if asked:
        from .version import show

        show(ctx.params["verbose"])
        raise typer.Exit


@app.callback()
def options(
    verbose: Annotated[
        bool,
        typer.Option(
            "-v",
            "--verbose",
            is_eager=True,
            help="With --version: print the versions of what gradcli uses, too.",
        ),
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, help="Print the version.")
    ] = False,
) -> None:
    """Evaluate and differentiate small programs.

    Without a command, `gradcli` in a terminal is `gradcli repl`; elsewhere it prints this help.

    \b
    Example:
      gradcli eval -e 'x**2 * sin(y)' --set x=3 --set y=0.5
    """


def dispatch(arguments: Sequence[str]) -> int:
    """Runs one command line; raises GradcliError where it is wrong."""
    if not arguments and is_at_terminal():
        arguments = ["repl"]
    if arguments[:1] == ["--show-completion"] and arguments[1:] and arguments[1] in SCRIPTS:
        write(SCRIPTS[arguments[1]].strip() + "\n", None)
        return 0
    group = typer.main.get_command(app)
    if "_GRADCLI_COMPLETE" in os.environ:  # PowerShell asks for completions; click answers, exits
        group(prog_name="gradcli")
    _completion_scripts.update({s: text.replace("%", "%%") for s, text in SCRIPTS.items()})
    try:
        with group.make_context("gradcli", list(arguments)) as context:
            return int(group.invoke(context) or 0)
    except typer.Exit as done:
        return done.exit_code
    except _ClickException as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            write(error.ctx.get_help() + "\n", None)
            return 0
        from .meant import diagnose

        raise GradcliError(_located(diagnose(error, COMMANDS), error)) from None


def _located(found: Diagnostic, error: Any) -> Diagnostic:
    """What is wrong with an option, with the place in the file of the project that sets it."""
    context, parameter = getattr(error, "ctx", None), getattr(error, "param", None)
    if context is None or parameter is None or _CONFIG not in context.meta:
        return found
    if context.get_parameter_source(parameter.name).name != "DEFAULT_MAP":
        return found
    place = context.meta[_CONFIG].settings[parameter.name].place
    return replace(found, code="E007", message=f"{place}: {found.message}")
