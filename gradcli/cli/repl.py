"""`gradcli repl`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from ..diagnostics import Diagnostic, GradcliError, did_you_mean, printable_lines
from ..report import Style
from . import given, limits, line_editor, options
from .terminal import Terminal

if TYPE_CHECKING:
    from ..tasks.session import Session

ALONE = ("check", "list", "undo", "help")  # commands about all of the program
HELP = """\
An entry is a statement or an expression; more lines follow where a bracket is open. Values are
printed as they come. An entry that fails, or that Ctrl-C ends, changes nothing.

  :grad y x     the gradient of y with respect to x; without names, of the last value
  :why y x      why this gradient is none, zero, nan, or what it is
  :check        verify every gradient of the program so far
  :plot y x=-3:3  draw y and its derivative over a range; with two ranges contours,
                and with a=1,2 a curve for each value of another input
  :trace y x    the operations between, with values, partials and cotangents
  :list         print the program so far
  :undo         take the last entry back
  :save FILE    write the program to a new file; :save! FILE replaces one
  :help         print this
  :quit         end; so does Ctrl-D

`gradcli --help`, in a shell, lists the other commands.
"""


def command(
    file: Annotated[
        str | None,
        typer.Argument(metavar="[FILE]", help="A program to begin with.", show_default=False),
    ] = None,
    set_: options.Set = None,
    inputs: options.Inputs = None,
    dtype: options.Dtype = "float64",
    device: options.Device = "cpu",
    seed: options.Seed = 0,
    precision: Annotated[
        int | None,
        typer.Option("--precision", metavar="N", min=1, max=17, help="Significant digits."),
    ] = None,
    max_steps: options.MaxSteps = None,
    max_memory: options.MaxMemory = None,
    color: options.Color = "auto",
    quiet: options.Quiet = False,
    traceback: options.Traceback = False,
) -> int:
    """Write a program entry by entry, and see the values as they come.

    Each entry is run with those before it, and `:grad y x` differentiates what there is; `:help`
    lists all commands. Ctrl-C ends a computation, Ctrl-D the session. With the extra `repl`
    (prompt_toolkit) the prompt has a history and completes names. Entries may come from a pipe,
    too; then the exit code is that of the worst error.

    \b
    Example:
      printf 'var x = 3.0\\ny = x**2\\n:grad y x\\n' | gradcli repl
    """
    terminal = Terminal(color, quiet)
    if hasattr(sys.stdin, "reconfigure"):
        sys.stdin.reconfigure(errors="replace")
    from ..tasks.evaluation import Options
    from ..tasks.programs import read_source
    from ..tasks.session import Session, is_open, known_words

    wanted = Options(
        dtype=dtype,
        device=device,
        seed=seed,
        max_steps=max_steps,
        max_memory=limits.parse_memory(max_memory),
        tracks=max_memory is not None,
    )
    session = Session(file or "<repl>", given.values(set_, inputs, [file]), wanted)
    prompt = _Prompt(session, terminal, terminal.style(precision=precision))
    words = known_words()
    read = line_editor.reader(
        is_open, lambda: [*(f":{name}" for name in prompt.commands), *session.names, *words]
    )
    with limits.limited(None, wanted.max_memory, terminal.diagnostic, device):
        if file is not None:
            prompt.enter(read_source(file).text.rstrip("\n"))
        prompt.run(read)
    return 0 if line_editor.is_at_terminal() else prompt.code


class _Prompt:
    """One session at a prompt: reads entries, and prints what comes of them."""

    def __init__(self, session: Session, terminal: Terminal, style: Style) -> None:
        self.session, self.terminal, self.style = session, terminal, style
        self.code = 0
        self.commands: dict[str, Callable[[str], object]] = {
            "grad": self._grad,
            "why": self._why,
            "check": self._check,
            "plot": self._plot,
            "trace": self._trace,
            "list": lambda _: self._print(self.session.text),
            "undo": lambda _: self._print(f"took back: {self.session.undo()}\n"),
            "save": self._save,
            "save!": lambda words: self._save(words, replaces=True),
            "help": lambda _: self._print(HELP),
        }

    def run(self, read: line_editor.Reader) -> None:
        """Reads and does entries until there are no more."""
        if line_editor.is_at_terminal():
            self.terminal.summary("gradcli: `:help` lists the commands, Ctrl-D ends")
        while True:
            try:
                entry = read()
                if entry.strip() == ":quit":
                    return
                self.do(entry)
            except EOFError:
                return
            except KeyboardInterrupt:  # the entry is given up before it is done
                self._print("\n")

    def do(self, entry: str) -> None:
        """Does a command or an entry; an error or Ctrl-C ends only that."""
        try:
            if entry.lstrip().startswith(":"):
                self._command(*entry.strip().removeprefix(":").partition(" ")[::2])
            elif entry.strip():
                self.enter(entry)
        except GradcliError as error:
            self._told(error.diagnostics)
        except (MemoryError, RecursionError) as error:
            self._told([_too_much(error)])
        except KeyboardInterrupt:
            self.terminal.summary("\ninterrupted")  # below the ^C of the terminal

    def enter(self, entry: str) -> None:
        """Runs an entry, and prints what is new with it."""
        from ..report.text import show

        told = self.session.enter(entry)
        for line in told.printed:
            self._print(line + "\n")
        for name, value in told.values:
            text = show(value, self.style.precision)
            self._print(f"{name} = {text}\n" if name else f"{text}\n")
        failed = [e.diagnostic for e in told.expectations if e.diagnostic is not None]
        self.code = max([self.code, *(1 for e in told.expectations if not e.passed)])
        self._told([*failed, *told.diagnostics])

    def _command(self, name: str, rest: str) -> None:
        if name not in self.commands:
            help = did_you_mean(name, self.commands) or "`:help` lists the commands"
            raise GradcliError(Diagnostic("E001", f"there is no command `:{name}`", help=help))
        if rest.strip() and name in ALONE:
            help = f"write `:{name}` alone"
            message = f"`:{name}` takes nothing, and has `{rest.strip()}`"
            raise GradcliError(Diagnostic("E001", message, help=help))
        self.commands[name](rest.strip())

    def _print(self, text: str) -> None:
        sys.stdout.write(printable_lines(text, self.style.color))
        sys.stdout.flush()

    def _told(self, diagnostics: list[Diagnostic]) -> None:
        for diagnostic in diagnostics:
            self.code = max(self.code, diagnostic.exit_code)
            self.terminal.diagnostic(diagnostic)

    # ---- commands ----

    def _grad(self, words: str) -> None:
        from .. import report

        found = self.session.gradients(*_of_and_wrt(words))
        self._print(str(report.render("text", [found], self.style)))
        for note in found.notes:
            self.terminal.summary(f"note: {note}")
        self._told(found.diagnostics)

    def _why(self, words: str) -> None:
        from ..report import explanations

        found = self.session.why(*_of_and_wrt(words))
        self._print(explanations.text([found], self.style))
        self._told(found.diagnostics)

    def _check(self, words: str) -> None:
        from .. import report

        found = self.session.check()
        self._print(report.render_checks("text", [found], self.style))
        self._told(found.diagnostics)
        self.code = max(self.code, found.exit_code)

    def _plot(self, words: str) -> None:
        from .plot import drawn, request_of

        over = [word for word in words.split() if "=" in word and ":" in word]
        families = [word for word in words.split() if "=" in word and ":" not in word]
        of = given.names(word for word in words.split() if "=" not in word)
        if not over or len(families) > 1:
            help = "write `:plot y x=-3:3`, and for a family of curves `a=1,2,3`"
            raise GradcliError(
                Diagnostic("E001", "`:plot` needs the range of a variable", help=help)
            )
        found = self.session.plot(of, request_of(over, families[0] if families else None))
        self._print(drawn(found, self.style.color))
        for note in found.notes:
            self.terminal.summary(f"note: {note}")

    def _trace(self, words: str) -> None:
        from ..report import traces

        found = self.session.trace(*_of_and_wrt(words))
        self._print(traces.render("text", [found], self.style))
        self._told(found.diagnostics)

    def _save(self, path: str, replaces: bool = False) -> None:
        from ..tasks.programs import write_program

        if not path:
            help = "write `:save model.tg`"
            raise GradcliError(Diagnostic("E001", "`:save` needs the name of a file", help=help))
        write_program(path, self.session.text, replaces)
        self._print(f"saved {path}\n")


def _of_and_wrt(words: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names in `y x`, `y,z x,w`: targets, and sources."""
    of, _, wrt = words.partition(" ")
    return given.names([of]), given.names([wrt])


def _too_much(error: MemoryError | RecursionError) -> Diagnostic:
    if isinstance(error, MemoryError):
        return limits.out_of_memory()
    help = "split the expression, or turn the recursion into a loop"
    return Diagnostic("E406", "nested too deeply", help=help)
