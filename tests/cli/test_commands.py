"""The command line as such: help, version, what is wrong with it, `ops`, `explain`, settings of a
project."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gradcli as package
from gradcli.cli.app import COMMANDS, load_command
from gradcli.cli.given import names
from gradcli.codes import CODES, REASONS
from gradcli.diagnostics import Source
from gradcli.ops import OPS
from gradcli.ops.description import derivatives
from gradcli.tasks import programs

from ..shell import shell

Run = Callable[..., Any]


def examples() -> list[str]:
    """The commands that the help texts show, but for what editors start (tests/editor)."""
    helps = [load_command(name).help.replace("\\\n", "") for name in COMMANDS if name != "lsp"]
    lines = [line.strip() for text in helps for line in text.split("\n")]
    return [line for line in lines if line.startswith(("gradcli ", "printf "))]


def test_version(gradcli: Run) -> None:
    assert gradcli("--version").out == f"gradcli {package.__version__}\n"


def test_help_lists_the_commands(gradcli: Run) -> None:
    result = gradcli("--help")
    assert result.code == 0
    for name in COMMANDS:
        assert re.search(rf"^  {name} ", result.out, re.M)
    assert gradcli("").out == result.out


def test_the_list_of_commands_fits_on_a_screen(
    gradcli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    listed = gradcli("--help").out.split("Commands:\n")[1].splitlines()
    assert len(listed) == len(COMMANDS)
    assert all(line.endswith(".") and not line.endswith("..") for line in listed)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(gradcli: Run, name: str) -> None:
    result = gradcli(f"{name} --help")
    assert result.code == 0
    assert f"gradcli {name}" in result.out.split("Options:")[0].split("\n", 1)[1]
    for parameter in load_command(name).params:
        assert parameter.help, f"{name}: {parameter.name} has no help"


@pytest.mark.parametrize("example", examples())
def test_examples_of_the_help_run(gradcli: Run, tmp_path: Path, example: str) -> None:
    if not example.startswith("gradcli "):
        said = shell(example, tmp_path, tmp_path)
        assert "error" not in said
        assert "batch" not in example or "none failed" in said
        assert said
        return
    (tmp_path / "a.tg").write_text("var x = 2.0; y = x**2")  # where an example is about a folder
    (tmp_path / "out.csv").write_text("x,y\n1,2\n3,4\n")  # or about what a batch has written
    result = gradcli(*shlex.split(example)[1:])
    assert result.code == 0, result.err
    assert result.out or (tmp_path / example.rpartition(" -o ")[2]).is_file()


@pytest.mark.parametrize(
    ("arguments", "help"),
    [
        ("evla", "did you mean `eval`?"),
        ("frobnicate", "the commands are eval"),
        ("eval --sett x=3", "did you mean `--set`?"),
        ("eval -e x --format jsn", "did you mean `json`?"),
        ("eval -e x --seed many", "'many' is not an integer\n  = help: `gradcli eval --help` lists what"),
        ("eval -e x --timeout long", "'long' is not a number"),
        ("check -e x --rtol nan", "nan is not a finite number"),
        ("check -e x --command-timeout nan", "nan is not a finite number"),
        ("diff -e x -e x --atol inf", "inf is not a finite number"),
        ("ops tanhh", "did you mean `tanh`?"),
        ("ops arctan2", "did you mean `atan2`?"),
        ("explain detachd", "did you mean `detached`?"),
        ("explain sin", "it is a builtin: `gradcli ops sin` describes it"),
        ("eval", "name a FILE"),
        ("eval a.tg -e x", "give one or the other"),
        ("eval - -", "name it once"),
        ("eval -e x --max-memory lots", "write `100M` or `2G`"),
        ("eval -e x --timeout 0", "write seconds"),
        ("eval -e x --format npz", "add `-o FILE.npz`"),
        ("eval -e x --mode revers", "did you mean `reverse`?"),
        ("eval -e x --hessians", "did you mean `--hessian`?"),
        ("eval a.tg --price 3", "an input is given with `--set price=…`; `gradcli eval --help` lists"),
        ("eval a.tg -p 3", "  = help: `gradcli eval --help` lists what there is"),
        ("fmt a.tg --price 3", "  = help: `gradcli fmt --help` lists what there is"),
        ("eval a.tg --json", "write `--format json`"),
        ("check a.tg --float32", "write `--dtype float32`"),
        ("batch a.tg --sum", "write `--reduce sum`"),
        ("batch a.tg --csv", "write `--rows-format csv` or `--out-format csv`"),
        ("batch a.tg d.csv", "`d.csv`\n  = help: one program goes over the data that --rows names: `--rows d.csv`"),
        ("plot a.tg d.csv --over x=0:1", "error[E001]: too many arguments: `d.csv`"),
        ("eval -e x --set price 3", "write `--set price=3`, without blanks"),
        ("eval -e x --set price = 3", "write `--set price=3`, without blanks"),
        ("eval -e x+y --set x=1 y=2", "an input is given with --set: `--set y=2`"),
        ("batch -e x d.csv", "`--inputs d.csv` takes inputs from data, `batch --rows d.csv` goes over"),
        ("batch a.tg --format csv", "did you mean `--rows-format` or `--out-format`?"),
        ("check a.tg --out-format json", "did you mean `--format`?"),
        ("plot -e x --over", "`gradcli plot --help` has examples"),
        ("eval -e", "`gradcli eval --help` has examples"),
        ("-e x**2", "a command comes first: `gradcli eval -e 'x**2' --set x=3`"),
        ("x**2", "a command comes first: `gradcli eval -e 'x**2'`"),
        ("a.tg", "a command comes first: `gradcli eval a.tg`"),
        ("run a.tg", "did you mean `gradcli eval`?"),
        ("help eval", "did you mean `gradcli --help`?"),
        ("version", "did you mean `gradcli --version`?"),
        ("eval -e x --set price", "write `--set price=3`, without blanks"),
        ("eval a.tg --set price = 3", "write `--set price=3`, without blanks"),
        ("eval -e x --set price@q.csv:p", "write `--set price=@q.csv:p`"),
        ("eval -e x --set 3", "write `--set x=3`"),
        ("eval -e x --expr=y", "`--expr` is given 2 times\n  = help: it takes one: give it once"),
        ("eval -e x -o ''", "`--output` is given an empty name\n  = help: it takes a file"),
        ("batch -e x --rows= -o a.csv", "`--rows` is given an empty name"),
        ("check -e x --against ''", "`--against` is given an empty name"),
        ("eval -e x --inputs ''", "`--inputs` is given an empty name"),
        ("check -e x --against a.json --against b.json", "`--against` is given 2 times"),
        ("batch -e x -o a.csv --output b.csv -o c.csv", "`--output` is given 3 times"),
    ],
)  # fmt: skip
def test_a_wrong_command_line_is_told_how_to_be_right(
    gradcli: Run, arguments: str, help: str
) -> None:
    result = gradcli(arguments)
    assert result.code == 2
    assert help in result.err
    assert "error[E001]" in result.err
    assert result.out == ""


@pytest.mark.parametrize(
    ("arguments", "help"),
    [
        (["eval", "x**2"], "the text of a program goes behind -e: `-e 'x**2'`"),
        (["check", "y = 2"], "the text of a program goes behind -e: `-e 'x**2'`"),
        (["eval", "price=3"], "an input is given with --set: `--set price=3`"),
        (["eval", "price=@q.csv:p"], "an input is given with --set: `--set price=@q.csv:p`"),
        (["eval", "-e", "x", "--inputs", '{"x": 3}'], "--inputs names a file; `--set x=3` gives"),
        (["eval", "nowhere.tg"], ""),
        (["lint", "my model.tg"], ""),
        (["eval", "volatilty.tg"], "did you mean `volatility.tg`?"),
        (["lint", "q.csv"], "`--inputs q.csv` takes inputs from data, `batch --rows q.csv` goes over"),
        (["batch", "q.csv"], "`--inputs q.csv` takes inputs from data, `batch --rows q.csv` goes over"),
        (["eval", "-e", "x", "--inputs", "x=3"], "--inputs names a file; `--set x=3` gives"),
        (["eval", "folder/model-2"], ""),
    ],
)  # fmt: skip
def test_a_file_that_is_none_is_told_what_it_may_be(
    gradcli: Run, tmp_path: Path, arguments: list[str], help: str
) -> None:
    (tmp_path / "volatility.tg").write_text("var x = 1.0\n")
    (tmp_path / "q.csv").write_text("x,y\n1,2\n")
    result = gradcli(*arguments)
    assert result.code == 2
    said = result.err + result.out
    assert "error[E002]" in said
    assert help in said
    assert bool(help) == ("= help" in said)


@pytest.mark.parametrize(
    ("value", "help"),
    [
        ("x=q.csv", "`x=@q.csv` reads the file"),
        ("x=1,2,3", "a list is written in brackets: `x=[1,2,3]`"),
        ("x=1,y=2", "each input stands alone: `--set x=1 --set y=…`"),
        ("x=abc", "a value is a literal such as 3"),
        ("x=True", "write `true`"),
        ("x=normal()", "let the program draw them, with the seed that --seed gives"),
    ],
)
def test_a_value_that_is_no_constant_is_told_what_it_may_be(
    gradcli: Run, tmp_path: Path, value: str, help: str
) -> None:
    (tmp_path / "q.csv").write_text("x,y\n1,2\n")
    result = gradcli("eval", "-e", "x", "--set", value)
    assert result.code == 2
    assert "error[E005]" in result.err
    assert help in result.err


def test_comma_lists_leave_expressions_whole() -> None:
    assert names(["x, y", "z"]) == ("x", "y", "z")
    assert names(["f(x, y),w[0, 1]"]) == ("f(x, y)", "w[0, 1]")
    assert names(None) == ()


# ---- ops and explain -----------------------------------------------------------------------------


def test_ops_lists_what_programs_can_call(gradcli: Run) -> None:
    listing = gradcli("ops").out
    for op in OPS.values():
        assert (f" {op.name}(" in listing) != op.internal, op.name


def test_ops_shows_the_derivative(gradcli: Run) -> None:
    assert re.search(r"∂/∂b +-y / b\n", gradcli("ops div").out)
    assert gradcli("ops /").out == gradcli("ops div").out
    assert json.loads(gradcli("ops maximum --format json").out)["convention"]


@pytest.mark.parametrize("name", OPS)
def test_every_op_has_a_page(gradcli: Run, name: str) -> None:
    result = gradcli("ops", name)
    assert OPS[name].summary in result.out
    assert all(derivatives(OPS[name]).values())


def test_explain(gradcli: Run) -> None:
    assert "Fix:" in gradcli("explain e304").out
    assert "Fix:" in gradcli("explain Detached").out
    listing = gradcli("explain").out
    assert [line.split()[0] for line in listing.splitlines()] == list(CODES)


@pytest.mark.parametrize("command", ["eval", "check", "symbolic", "why", "trace"])
def test_a_program_is_not_replaced_by_its_answer(
    gradcli: Run, tmp_path: Path, command: str
) -> None:
    (tmp_path / "a.tg").write_text("var x = 2.0; y = x**2")
    done = gradcli(f"{command} a.tg -o ./a.tg --format json")
    assert (done.code, done.err.splitlines()[0]) == (
        2,
        "error[E001]: the output would replace the program `./a.tg`",
    )
    assert (tmp_path / "a.tg").read_text() == "var x = 2.0; y = x**2"


@pytest.mark.parametrize("code", CODES)
def test_every_code_says_what_and_what_to_do(code: str) -> None:
    entry = CODES[code]
    assert entry.title
    assert entry.text.endswith((".", ":"))
    assert entry.fix.endswith(".")


def test_every_code_in_the_source_is_explained() -> None:
    source = "\n".join(
        path.read_text(encoding="utf-8") for path in Path(package.__file__).parent.rglob("*.py")
    )
    used = re.findall(r'"([EW]\d{3})"', source)
    assert sorted(set(used) - set(CODES)) == []
    assert {code for code in CODES if used.count(code) < 2} - REASONS == set()  # once in the table


@pytest.mark.parametrize(
    "code", [code for code in CODES if CODES[code].example and code not in REASONS]
)
def test_examples_show_their_code(gradcli: Run, tmp_path: Path, code: str) -> None:
    example = CODES[code].example
    if example.startswith("$ gradcli"):
        result = gradcli(*shlex.split(example)[2:])
        said = result.out + result.err  # what a check finds is its answer
    elif example.startswith("$"):
        said = shell(re.sub(r"(?m)^\$ ", "", example), tmp_path, tmp_path)
    else:
        (tmp_path / "example.tg").write_text(example, encoding="utf-8")
        result = gradcli("eval example.tg")
        said = result.out + result.err
    assert re.search(rf"^(error|warning)\[{code}\]", said, re.M), said
    assert code == "E900" or "E900" not in said


# ---- folders of programs -------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with programs, at any depth, and what is none."""
    for name in (
        "b.tg",
        "a.tg",
        "deep/er/c.tg",
        "deep/d.tg",
        ".hidden/e.tg",
        "notes.txt",
        "none/notes.txt",
    ):
        path = tmp_path / "programs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("var x = 2.0; y = x**2")
    return tmp_path / "programs"


@pytest.mark.parametrize("command", ["eval", "check", "symbolic --no-simplify", "why", "trace"])
@pytest.mark.usefixtures("folder")
def test_a_folder_stands_for_its_programs(gradcli: Run, command: str) -> None:
    names = ["programs/a.tg", "programs/b.tg", "programs/deep/d.tg", "programs/deep/er/c.tg"]
    words = command.split()
    expected = gradcli(*words, *names)
    assert expected.code == 0
    assert gradcli(*words, "programs").out == expected.out
    assert gradcli(*words, "./programs/").out == expected.out
    assert gradcli(*words, ".").out == expected.out
    assert (
        gradcli(*words, "programs/b.tg", "programs/deep").out
        == gradcli(*words, names[1], *names[2:]).out
    )


@pytest.mark.parametrize("command", ["eval", "check", "symbolic", "why", "trace"])
@pytest.mark.usefixtures("folder")
def test_a_folder_without_programs(gradcli: Run, command: str) -> None:
    done = gradcli(command, "programs/none")
    assert done.code == 2
    assert "error[E002]: there is no program in the folder `programs/none`" in done.err
    assert "end in `.tg`" in done.err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
@pytest.mark.parametrize("command", ["check", "eval", "symbolic", "why", "trace"])
@pytest.mark.parametrize("kind", ["pipe", "socket", "device"])
def test_what_is_no_regular_file_is_refused(
    gradcli: Run, tmp_path: Path, command: str, kind: str
) -> None:
    """It would be read for ever."""
    (tmp_path / "a.tg").write_text("var x = 2.0\ny = x**2\n")
    path = tmp_path / "x.tg"
    with contextlib.ExitStack() as stack:
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "socket":
            bound = stack.enter_context(socket.socket(socket.AF_UNIX))
            stack.enter_context(contextlib.chdir(tmp_path))  # the name of a socket is short
            bound.bind("x.tg")
        else:
            path.symlink_to("/dev/zero")
        done = gradcli(f"{command} .")
    assert done.code == 2
    assert "error[E002]: cannot read `x.tg`: it isn't a regular file" in done.err


@pytest.mark.usefixtures("folder")
def test_a_program_of_a_folder_is_not_replaced_either(gradcli: Run) -> None:
    done = gradcli("check programs -o programs/deep/d.tg")
    assert (done.code, done.err.splitlines()[0]) == (
        2,
        "error[E001]: the output would replace the program `programs/deep/d.tg`",
    )


@pytest.mark.usefixtures("folder")
def test_batch_runs_one_program(gradcli: Run) -> None:
    assert "cannot read `programs`" in gradcli("batch programs --rows rows.csv -o out.csv").err


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("ops for", "for NAME in SEQUENCE { … }"),
        ("ops print", "print VALUE"),
        ("ops tape", "tape NAME"),
        ("explain none", "The absence of a value."),
        ("explain pause", "Records nothing in the block."),
    ],
)
def test_words_of_the_language_are_explained(gradcli: Run, command: str, shown: str) -> None:
    result = gradcli(command)
    assert result.code == 0
    assert shown in result.out


def test_a_word_as_json(gradcli: Run) -> None:
    entry = json.loads(gradcli("ops while --format json").out)
    assert (entry["name"], entry["category"]) == ("while", "language")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("eval -e", "`-e` needs a value"),
        ("check --set", "`--set` needs a value"),
        ("eval --no-grad=1 -e 1", "`--no-grad` takes no value"),
        ("ops ln", "did you mean `log`?"),
        ("ops ferr", "`gradcli ops` lists all of them"),
    ],
)
def test_options_and_names_that_do_not_fit(gradcli: Run, command: str, message: str) -> None:
    result = gradcli(command)
    assert result.code == 2
    assert message in result.err


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("eval {}", r"y +16\.0"),
        ("eval {} --format jsonl", r'"value": 16\.0'),
        ("check {} --jobs 1", "2 passed, 1 failed"),
        ("check {} --jobs 2", "2 passed, 1 failed"),
        ("symbolic {}", r"c\.tg:\ny = x\*\*2"),
        ("trace {}", r"pow\(x, 2\) +16\.0"),
        ("why {} --of y --wrt x", r"x: 8\.0"),
    ],
)
def test_a_fault_of_gradcli_in_one_program_leaves_the_others(
    gradcli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, answer: str
) -> None:
    for name, value in (("a", 3.0), ("b", 0.0), ("c", 4.0)):
        (tmp_path / f"{name}.tg").write_text(f"var x = {value}\ny = x**2\n")
    resolves = programs.resolve_program

    def fails(tree: Any, source: Source, *others: Any) -> Any:
        if source.name == "b.tg":
            raise AssertionError("a fault")
        return resolves(tree, source, *others)

    monkeypatch.setattr(programs, "resolve_program", fails)
    done = gradcli(command.format("a.tg b.tg c.tg"))
    assert done.code == 70
    assert "error[E900]: b.tg: internal error: AssertionError: a fault\n" in done.err
    assert re.search(answer, done.out)
    shown = gradcli(command.format("a.tg b.tg c.tg") + " --traceback")
    assert shown.code == 70
    assert "in fails" in shown.err
