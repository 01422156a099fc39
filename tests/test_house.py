"""The house keeps its rules: who may import whom, who may import what from outside, and how long a
file is."""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import gradcli

HOUSE = Path(gradcli.__file__).parent
FILES = sorted(HOUSE.rglob("*.py"))

# What codes.py joins.
CODES = ("batch_codes", "check_codes", "form_codes", "lint_codes", "reason_codes", "run_time_codes")

# A room (a folder, or a file at the top) and the rooms that it may import.
LAW: dict[str, set[str]] = {
    "diagnostics": set(),
    "platform": set(),
    "safe_files": set(),
    "naming": set(),
    "structs": set(),
    "vocabulary": set(),
    "codes": {"lang.codes", *CODES},
    **{name: {"lang.codes"} for name in CODES},
    "ops": set(),
    "lang": {"ops"},
    "engine": {"lang.program", "ops"},
    "rows": set(),
    "tasks": {"engine", "lang", "ops", "rows", ""},
    "tidy": {"lang", "ops", "engine.analysis.discarded", "tasks.each", "tasks.programs"},
    "editor": {"lang", "ops", "tidy", ""},
    "report": {
        "rows.writing.whole",
        "tidy.findings",
        "tasks.batch.summary",
        "tasks.comparison",
        "tasks.evaluation",
        "tasks.explanations",
        "tasks.forms",
        "tasks.check.results",
        "tasks.plot.results",
        "tasks.traced",
        "",
    },
    "cli": {"tasks", "tidy", "report", "editor", "ops", "codes", "vocabulary", ""},
    "api": {"tasks", "lang.program", "ops.registry"},
    "notebook": {"api", "report", "tasks"},
    "eager": {"engine", "ops"},
    "numpy": {"eager", "ops"},
    "highlighting": {"ops", "lang.constants", "lang.lexer"},
    "extension": {"ops", "lang.constants", "lang.lexer"},
    "__main__": {"cli"},
    "pytest_plugin": {"tasks", "report"},
    "": {"api", "eager", "extension", "notebook", "tasks", "diagnostics"},  # the front door
}

# The rooms of the engine, from the bottom up: each imports from those below it. What has no room is
# the front.
FLOORS = (
    "backends", "ir", "formulas", "passes", "lowering", "codegen", "values", "analysis", "trace", "operations", "ad", "replay",
    "lanes", "explain", "jacobian",
    "transforms", "compilation", "calls", "interpreter", "kernels", "", "symbolic",
)  # fmt: skip

# The doors of the engine: what tasks use of it. `check` alone takes runs apart, and is let in
# everywhere.
ENGINE_DOORS = {
    "execution",  # compile a program, execute it, ask for values and derivatives
    "forward_runs",  # the same in forward mode
    "row_runs",  # the same for many rows
    "row_calls",  # by one kernel
    "values",  # what programs compute with
    "backends",  # dtypes, shapes, devices
    "analysis",  # what the text of a program tells
    "explain",  # why a gradient is none, zero or nan
    "trace",  # what an explanation reads of a run
    "symbolic",  # closed forms
    "program_calls",  # its outputs and gradients by one kernel
    "region_texts",  # what of a program is compiled
}

EVERYONES = {
    "diagnostics",
    "naming",
    "platform",
    "structs",
    "safe_files",
}  # what every room may import

# Third-party packages and where they may enter. NumPy enters reports and inputs for arrays in files
# and on screens, and cli/limits.py loads it before it limits the memory for programs.
DOORS: dict[str, set[str]] = {
    "numpy": {
        "engine",
        "rows",
        "tasks.batch",
        "tasks.plot",
        "report.npz",
        "report.text",
        "report.values",
        "tasks.input_files",
        "notebook",
        "cli.limits",
    },
    "cupy": {"engine"},
    "pyarrow": {"rows"},
    "scipy": {"engine"},
    "sympy": {"engine"},
    "mpmath": {"engine"},
    "llvmlite": {"engine"},
    "lark": {"lang"},
    "typer": {"cli"},
    "prompt_toolkit": {"cli.line_editor"},
    "pygls": {"editor.server"},
    "pygments": {"highlighting"},
    "lsprotocol": {"editor.server"},
    "IPython": {"notebook"},
    "plotext": {"report.plot_terminal"},
    "matplotlib": {"report.plot_file"},
    "grandalf": {"report.trace_svg"},
    "dask": {"tasks.batch.cluster"},
    "distributed": {"tasks.batch.cluster"},
    "pytest": {"pytest_plugin"},
}

MAX_LINES = 400


def room_of(path: Path) -> str:
    """`engine.tape` for engine/tape.py; "" for the package itself."""
    parts = path.relative_to(HOUSE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def imports(path: Path) -> Iterator[str]:
    """Every module that a file imports, absolutely named; `gradcli.x.y` for relative ones.
    Typing-only ones count too."""
    package = ["gradcli", *path.relative_to(HOUSE).parent.parts]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                is_module = (
                    (HOUSE.parent.joinpath(*stem.split("."), alias.name))
                    .with_suffix(".py")
                    .exists()
                )
                is_package = HOUSE.parent.joinpath(*stem.split("."), alias.name).is_dir()
                yield (
                    f"{stem}.{alias.name}"
                    if stem.startswith("gradcli") and (is_module or is_package)
                    else stem
                )


def allowed(name: str, permitted: set[str]) -> bool:
    return any(name == p or name.startswith(p + ".") for p in permitted)


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if room_of(path).startswith("tasks.") and "check" not in path.parts],
    ids=room_of,
)
def test_tasks_come_in_by_the_doors_of_the_engine(path: Path) -> None:
    for module in imports(path):
        if module.startswith("gradcli.engine."):
            assert module.split(".")[2] in ENGINE_DOORS, f"{room_of(path)} imports {module}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: room_of(path) or "gradcli")
def test_imports_go_one_way(path: Path) -> None:
    room = room_of(path)
    top = room.split(".")[0]
    for module in imports(path):
        if module.split(".")[0] != "gradcli":
            continue
        target = module.removeprefix("gradcli").removeprefix(".")
        same_room = target.split(".")[0] == top
        assert same_room or allowed(target, EVERYONES) or allowed(target, LAW[top]), (
            f"{room} imports {module}"
        )


def floor_of(room: str) -> int:
    """How high a file of the engine stands."""
    inner = room.split(".")
    return FLOORS.index(
        inner[1] if len(inner) > 1 and HOUSE.joinpath("engine", inner[1]).is_dir() else ""
    )


@pytest.mark.parametrize(
    "path", [path for path in FILES if room_of(path).startswith("engine.")], ids=room_of
)
def test_the_engine_imports_downwards(path: Path) -> None:
    room = room_of(path)
    for module in imports(path):
        if module.startswith("gradcli.engine."):
            assert floor_of(module.removeprefix("gradcli.")) <= floor_of(room), (
                f"{room} imports {module}"
            )


def test_no_circle_of_imports() -> None:
    """No file imports one that imports it in turn, however far around: imports inside functions and
    for types count."""
    graph = {
        room_of(path): {
            name.removeprefix("gradcli").removeprefix(".")
            for name in imports(path)
            if name.split(".")[0] == "gradcli"
        }
        for path in FILES
    }
    sorter = TopologicalSorter(graph)
    sorter.prepare()  # raises CycleError, which names the circle


# ---- what docs/architecture.md shows of it ----

TOUR = (Path(__file__).parent.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
ARROWS = re.findall(r"^ +(\w+) --> (\w+)$", TOUR, re.M)
SHOWN = {room for arrow in ARROWS for room in arrow}
FRONT = {
    "execution",
    "forward_runs",
    "row_runs",
    "region_texts",
    "program_calls",
    "row_calls",
    "program_jacobians",
    "program_values",
}  # the files of the engine that are in no room of it


def box_of(module: str) -> str:
    """The box of the diagram that a module is in."""
    parts = module.split(".")
    inner = (
        "execution"
        if parts[-1] in FRONT
        else parts[1]
        if parts[0] == "engine" and len(parts) > 1
        else parts[0]
    )
    return inner if inner in SHOWN else parts[0]


@cache
def imported() -> dict[str, set[str]]:
    """The boxes that each box of the diagram imports."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in FILES:
        room = room_of(path)
        for module in imports(path):
            target = module.removeprefix("gradcli.")
            if (
                module.startswith("gradcli.")
                and target.split(".")[0] not in EVERYONES
                and box_of(room) in SHOWN
            ):
                inside = room.split(".")[0] == target.split(".")[0] == "engine"
                source = box_of(room) if inside or not room.startswith("engine") else "engine"
                found[source].add(
                    box_of(target) if inside or not target.startswith("engine") else "engine"
                )
    return found


def below(room: str) -> set[str]:
    """What the arrows lead to from a box, however far."""
    found: set[str] = set()
    waiting = [room]
    while waiting:
        source = waiting.pop()
        new = {target for start, target in ARROWS if start == source} - found
        found |= new
        waiting += new
    return found


def test_the_diagram_has_every_import() -> None:
    for room, targets in imported().items():
        missing = (targets & SHOWN) - below(room) - {room}
        assert not missing, f"{room} imports {missing}, which no path of the diagram leads to"


def test_every_arrow_is_an_import() -> None:
    found = imported()
    assert [arrow for arrow in ARROWS if arrow[1] not in found[arrow[0]]] == []


def test_the_table_has_the_rooms_of_the_engine() -> None:
    rows = re.findall(r"^\| \[([\w.]+)\]\(\.\./gradcli/engine/.* \| (\d+) \|$", TOUR, re.M)
    assert [room.replace("execution.py", "") for room, _ in rows] == [*reversed(FLOORS)]
    for room, files in rows[:1] + rows[2:]:
        actual = len(list((HOUSE / "engine" / room).rglob("[!_]*.py")))
        assert abs(int(files) - actual) <= 3, f"engine/{room} has {actual} files"


# ---- what comes from outside, and files ----


@pytest.mark.parametrize("path", FILES, ids=lambda path: room_of(path) or "gradcli")
def test_every_package_has_one_door(path: Path) -> None:
    for module in imports(path):
        package = module.split(".")[0]
        if package != "gradcli" and package not in sys.stdlib_module_names:
            assert allowed(room_of(path), DOORS.get(package, set())), (
                f"{room_of(path)} imports {module}"
            )


@pytest.mark.parametrize("path", FILES, ids=lambda path: room_of(path) or "gradcli")
def test_a_file_holds_one_idea(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= MAX_LINES
    assert not text or ast.get_docstring(ast.parse(text)), (
        "a module begins with a sentence that says what it owns"
    )


TESTS = Path(__file__).parent
TEST_FILES = {path.name for path in TESTS.rglob("test_*.py")}


@pytest.mark.parametrize(
    "path", sorted(TESTS.rglob("*.py")), ids=lambda path: path.relative_to(TESTS).as_posix()
)
def test_no_test_is_imported(path: Path) -> None:
    """What tests have in common (strategies, programs, models, helpers) stands in modules that are
    no tests."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        modules = (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import | ast.ImportFrom)
            else []
        )
        if isinstance(node, ast.ImportFrom):
            modules.append(node.module or "")
        tests = {
            part for module in modules for part in module.split(".") if (part + ".py") in TEST_FILES
        }
        assert not tests, f"what it takes from {tests} belongs in a module that is no test"


@pytest.mark.parametrize(
    "path", sorted(TESTS.rglob("*.py")), ids=lambda path: path.relative_to(TESTS).as_posix()
)
def test_no_private_name_is_patched(path: Path) -> None:
    """Tests turn public switches (`tiers.only`), give arguments, or make circumstances real; what
    they replace or watch has a public name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import | ast.ImportFrom):
            assert "mock" not in re.split(r"\W+", ast.unparse(node))
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "setattr"
        ):
            names = [
                arg.value
                for arg in node.args[:2]
                if isinstance(arg, ast.Constant) and isinstance(arg.value, str)
            ]
            private = [
                name for name in names if any(part.startswith("_") for part in name.split("."))
            ]
            assert not private, f"line {node.lineno} patches {private}"


def test_public_names() -> None:
    assert sorted(gradcli.__all__) == gradcli.__all__
    for name in gradcli.__all__:
        assert getattr(gradcli, name) is not None
    with pytest.raises(AttributeError):
        gradcli.nothing  # noqa: B018
