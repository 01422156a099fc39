"""Every command in a folder that somebody else filled with what might run, or be read or written,
by being there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import gradcli

# What Python and its packages look for by name. Of third-party packages also those that are
# optional.
PACKAGES = """
    numpy scipy sympy mpmath typer click rich pyarrow pandas llvmlite cupy dask distributed tornado cloudpickle msgpack yaml
    psutil lark pytest matplotlib gmpy2 shellingham sitecustomize usercustomize readline
"""
# `python -m` itself needs these before gradcli begins, and takes them from the current folder:
# SECURITY.md says so.
OF_PYTHON = """
    __future__ runpy pkgutil typing importlib gradcli types functools collections warnings re enum operator keyword reprlib
    contextlib _typing weakref copyreg inspect ast dis opcode linecache tokenize token
    zipimport abc io os sys site codecs encodings stat
    posixpath genericpath threading
"""
PROGRAM = "var x = 2.0; y = x**2 * sin(x) if x > 1 else x"
COMMANDS = {
    "eval": ["eval", "p.tg", "--closed-form", "--jacobian", "--hessian"],
    "check": ["check", "p.tg", "q.tg", "--jobs", "2", "--points", "1"],
    "diff": ["diff", "p.tg", "q.tg", "--points", "1"],
    "symbolic": ["symbolic", "p.tg", "--timeout", "60"],
    "why": ["why", "p.tg"],
    "ops": ["ops"],
    "explain": ["explain", "E001"],
    "fmt": ["fmt", "."],
    "lint": ["lint", "."],
    "batch": ["batch", "p.tg", "--rows", "rows.csv", "-o", "out.parquet", "--block-rows", "2"],
    "workers": [
        "batch",
        "p.tg",
        "--rows",
        "rows.csv",
        "-o",
        "out.parquet",
        "--block-rows",
        "2",
        "--workers",
        "2",
    ],
    "npz": ["eval", "-e", "2*a", "--set", "a=@evil.npz:a"],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder, in which each file that runs says so in `../ran`."""
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    says = f"open({str(tmp_path / 'ran')!r}, 'a').write(__name__ + '\\n')\n"
    for name in {
        *sys.stdlib_module_names,
        *PACKAGES.split(),
        "gradcli",
        "conftest",
        "setup",
        "evil",
    } - {"__main__"}:
        (hostile / f"{name}.py").write_text(says)
    offered = hostile / "evil-1.0.dist-info"
    offered.mkdir()
    (offered / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n")
    (offered / "entry_points.txt").write_text(
        "[gradcli.ops]\nevil = evil:add\n[pytest11]\nevil = evil\n"
    )
    (hostile / "evil.pth").write_text(f"import os; {says}")
    (hostile / "p.tg").write_text(PROGRAM)
    (hostile / "q.tg").write_text(PROGRAM)
    (hostile / "rows.csv").write_text("x\n" + "".join(f"{k}.5\n" for k in range(10)))
    pickled = b"cos\nsystem\n(S'echo pickle >> " + str(tmp_path / "ran").encode() + b"'\ntR."
    (hostile / "evil.npz").write_bytes(pickled)
    (hostile / "a.npy").write_bytes(pickled)
    return hostile


def run(
    folder: Path, how: list[str], arguments: list[str], **variables: str
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **variables}
    return subprocess.run(
        [*how, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def console(root: str = "") -> list[str]:
    """The console script, whose own folder is what Python puts first."""
    return [
        sys.executable,
        "-P",
        "-c",
        f"import sys; sys.path.append({root!r}); from gradcli.cli import main; main()",
    ]


ROOT = str(Path(gradcli.__file__).parents[1])


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_of_the_folder_runs(folder: Path, command: str) -> None:
    before = {path.name for path in folder.iterdir()}
    done = run(folder, console(ROOT), COMMANDS[command])
    assert done.returncode == (2 if command == "npz" else 0), done.stderr
    assert not (folder.parent / "ran").exists(), (folder.parent / "ran").read_text()
    assert {path.name for path in folder.iterdir()} - before <= {"out.parquet", ".out.parquet.done"}


@pytest.mark.parametrize("command", ["eval", "symbolic", "workers"])
def test_nor_what_an_empty_entry_of_the_search_path_means(folder: Path, command: str) -> None:
    """`PYTHONPATH=$PYTHONPATH:/more` has one where there was none; what Python itself takes from
    there runs before gradcli."""
    for name in OF_PYTHON.split():
        (folder / f"{name}.py").unlink(missing_ok=True)
    for name in ("sitecustomize", "usercustomize"):
        (folder / f"{name}.py").unlink()
    begin = "import sys; sys.path.insert(0, ''); from gradcli.cli import main; main()"
    done = run(
        folder, [sys.executable, "-c", begin], COMMANDS[command], PYTHONPATH=f"{ROOT}{os.pathsep}"
    )
    assert done.returncode == 0, done.stderr
    assert not (folder.parent / "ran").exists(), (folder.parent / "ran").read_text()


@pytest.mark.parametrize("command", ["eval", "check", "symbolic", "batch"])
def test_nor_by_the_name_of_the_package(folder: Path, command: str) -> None:
    """`python -m gradcli`, but for what Python needs before gradcli begins."""
    for name in OF_PYTHON.split():
        (folder / f"{name}.py").unlink(missing_ok=True)
    done = run(folder, [sys.executable, "-m", "gradcli"], COMMANDS[command], PYTHONPATH=ROOT)
    assert done.returncode == 0, done.stderr
    assert not (folder.parent / "ran").exists(), (folder.parent / "ran").read_text()
    assert (
        run(
            folder, [sys.executable, "-P", "-m", "gradcli"], COMMANDS[command], PYTHONPATH=ROOT
        ).returncode
        == 0
    )


@pytest.mark.parametrize("command", ["eval", "check", "batch", "workers"])
def test_nor_does_it_have_anything_written(folder: Path, command: str) -> None:
    """By settings, which end the command, and by links where a job keeps what it has finished."""
    profile = folder.parent / "profile"
    profile.write_text("mine")
    kept = folder / "out.parquet.partial"
    kept.mkdir()
    for name in ("journal.jsonl", "rejects.jsonl", "rows.parquet"):
        (kept / name).symlink_to(profile)
    (folder / "pyproject.toml").write_text('[tool.gradcli.batch]\nscheduler = "tcp://evil:8786"\n')
    (folder / "gradcli.toml").write_text(
        f"[batch]\nreport = {str(profile)!r}\n[check]\nagainst-command = 'touch ../ran'\n"
    )
    done = run(folder, console(ROOT), COMMANDS[command])
    assert (done.returncode, done.stdout) == (2, "")
    assert "can't be set by a settings file" in done.stderr
    done = run(folder, console(ROOT), [*COMMANDS[command], "--no-config"])
    assert done.returncode == (2 if "batch" in COMMANDS[command] else 0)
    assert profile.read_text() == "mine"
    assert {path.name for path in folder.parent.iterdir()} == {"hostile", "profile"}


def test_a_program_of_the_users_has_its_own_search_path(folder: Path) -> None:
    """What --against-command runs may be a script with modules beside it."""
    (folder / "mine").mkdir()
    (folder / "mine" / "beside.py").write_text("slope = 4.0\n")
    (folder / "mine" / "gradient.py").write_text(
        "from beside import slope\nprint('{\"x\": %r}' % slope)\n"
    )
    (folder / "square.tg").write_text("var x = 2.0; y = x**2\n")
    command = f"{sys.executable} mine/gradient.py"
    done = run(folder, console(ROOT), ["check", "square.tg", "--against-command", command])
    assert done.returncode == 0, done.stdout + done.stderr
