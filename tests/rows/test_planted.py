"""Files that a stranger planted where gradcli writes: none is followed, and none outside is
touched."""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcli.cli import run
from gradcli.rows.writing import WRITERS, Column
from gradcli.safe_files import member_name, own_folder, plain_file

SECRET = b"what belongs to somebody\n"
pytestmark = pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="links are followed here")
ROWS = "x\n" + "".join(f"{k}\n" for k in range(40)) + "banana\n"


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that isn't to be touched; beside the folder of a job, which is the current one."""
    for name in ("job", "folder"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "job")
    Path("rows.csv").write_text(ROWS)
    (tmp_path / "folder" / "kept").write_bytes(SECRET)
    (tmp_path / "outside").write_bytes(SECRET)
    return tmp_path / "outside"


def batch(out: str, *more: str) -> int:
    return run(
        [
            "batch",
            "-e",
            "x**2",
            "--rows",
            "rows.csv",
            "-o",
            out,
            "--block-rows",
            "10",
            "--threads",
            "1",
            *more,
        ]
    )


def plant(file: Path, how: str, outside: Path) -> None:
    file.unlink(missing_ok=True)
    if how == "second name":
        file.hardlink_to(outside)
    elif how == "pipe":
        os.mkfifo(file)
    else:
        file.symlink_to(
            {
                "link": outside,
                "dangling link": outside.parent / "new",
                "link to a folder": outside.parent / "folder",
            }[how]
        )


@pytest.mark.parametrize(
    "how", ["link", "second name", "dangling link", "link to a folder", "pipe"]
)
@pytest.mark.parametrize("format", WRITERS)
def test_nothing_in_the_folder_of_a_job_is_followed(outside: Path, format: str, how: str) -> None:
    out = Path(f"out.{format}")
    folder = Path(f"{out}.partial")
    for name in (
        "journal.jsonl",
        "rejects.jsonl",
        f"rows.{format}",
        "delivered.jsonl",
        f"rows.{format}.blocks",
        "evil",
    ):
        for more in ((), ("--resume",)):
            folder.mkdir()
            (folder / "journal.jsonl").write_bytes(b"")
            plant(folder / name, how, outside)
            assert batch(str(out), *more) in (2, 6)
            assert (
                outside.read_bytes() == (outside.parent / "folder" / "kept").read_bytes() == SECRET
            )
            assert {path.name for path in outside.parent.iterdir()} == {"job", "folder", "outside"}
            assert not out.is_symlink()
            for left in folder.iterdir() if folder.exists() else ():
                left.unlink()
            if folder.exists():
                folder.rmdir()
            out.unlink(missing_ok=True)


@pytest.mark.parametrize(
    "how", ["link", "second name", "dangling link", "link to a folder", "pipe"]
)
def test_a_finished_job_is_no_link(outside: Path, how: str) -> None:
    """What is planted at `.OUT.done` is neither read nor written to, but replaced."""
    done = Path(".out.csv.done")
    for more in ((), ("--resume",)):
        plant(done, how, outside)
        assert batch("out.csv", *more) == 6
        assert outside.read_bytes() == (outside.parent / "folder" / "kept").read_bytes() == SECRET
        assert {path.name for path in outside.parent.iterdir()} == {"job", "folder", "outside"}
        assert not done.is_symlink()
        assert done.is_file()


@pytest.mark.parametrize("how", ["link", "second name"])
def test_what_another_job_left_is_no_finished_job(
    outside: Path, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A journal that is right, but lies elsewhere: the job is done again."""
    assert batch("out.csv") == 6
    Path(".out.csv.done").rename(outside)
    journal = outside.read_bytes()
    plant(Path(".out.csv.done"), how, outside)
    capsys.readouterr()
    assert batch("out.csv", "--resume", "--report", "report.json") == 6
    assert not json.loads(Path("report.json").read_text())["was_done"]
    assert outside.read_bytes() == journal


def test_a_link_in_place_of_the_journal_is_told(
    outside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("out.csv.partial").mkdir()
    Path("out.csv.partial/journal.jsonl").symlink_to(outside)
    assert batch("out.csv") == 2
    err = capsys.readouterr().err
    assert "error[E006]: cannot write `out.csv`" in err
    assert "journal.jsonl` is a link, which isn't followed" in err


def test_the_folder_of_a_job_is_its_owners(
    outside: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("out.csv.partial").symlink_to(outside.parent / "folder")
    assert batch("out.csv") == 2
    assert "out.csv.partial` is " in capsys.readouterr().err
    assert [path.name for path in (outside.parent / "folder").iterdir()] == ["kept"]
    (outside.parent / "folder" / "kept").unlink()
    assert batch("out.csv") == 2
    assert "out.csv.partial` is a link" in capsys.readouterr().err
    assert list((outside.parent / "folder").iterdir()) == []
    Path("out.csv.partial").unlink()
    own_folder(Path("new"))
    assert Path("new").stat().st_mode & 0o777 == 0o700
    mine = os.geteuid()
    Path("out.csv.partial").mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    assert batch("out.csv") == 2
    assert "another user owns the folder" in capsys.readouterr().err
    assert list(Path("out.csv.partial").iterdir()) == []


def test_an_answer_is_written_to_a_file_of_its_own_first(outside: Path) -> None:
    """Under a name that nobody could guess."""
    for name in ("y.json.partial", f".y.json.{os.getpid()}.partial"):
        Path(name).symlink_to(outside)
    assert run(["eval", "-e", "x**2", "--set", "x=3", "-o", "y.json", "--format", "json"]) == 0
    assert outside.read_bytes() == SECRET
    assert json.loads(Path("y.json").read_text())["outputs"]


def test_what_a_killed_run_left_of_an_answer_is_removed_later(outside: Path) -> None:
    left = [Path(f".y.json.{k:016x}.partial") for k in range(3)]
    others = [
        Path(name)
        for name in (
            ".y.json.1.partial",
            ".z.json.0000000000000000.partial",
            "y.json.0000000000000000.partial",
        )
    ]
    for path in (*left, *others):
        path.write_text("{")
    left[1].unlink()
    left[1].symlink_to(outside)
    for path in (left[0], *others):
        os.utime(path, (0, 0))
    os.utime(left[1], (0, 0), follow_symlinks=False)
    assert run(["eval", "-e", "x**2", "--set", "x=3", "-o", "y.json", "--format", "json"]) == 0
    assert [path.is_symlink() or path.exists() for path in left] == [
        False,
        False,
        True,
    ]  # the last may still be written
    assert all(path.exists() for path in others)
    assert outside.read_bytes() == SECRET


def test_only_plain_files_are_opened(outside: Path) -> None:
    Path("link").symlink_to(outside)
    os.mkfifo("pipe")
    for name in ("link", "pipe", "."):
        with pytest.raises(OSError, match=r"isn't followed|no plain file"):
            plain_file(name, os.O_RDONLY)


# ---- names in archives ---------------------------------------------------------------------------

EVIL = [
    "../../x",
    "/etc/x",
    "a/../../b",
    "..",
    ".",
    "a//b",
    "a/",
    "..\\x",
    "a\nb",
    "\x1b[2J",
    "%2E%2E",
    "//x",
    "../" * 9,
]


@pytest.mark.usefixtures("outside")
@pytest.mark.parametrize("name", EVIL)
def test_members_of_an_archive_stay_below_it(name: str) -> None:
    writer = WRITERS["npz"]("y.npz", None)
    writer.append([Column(name, np.zeros(2), None)])
    writer.finish()
    verify_below(Path("y.npz").read_bytes())
    Path("dict.tg").write_text(
        "var x = 2.0\ny = {'a': x, KEY: x}\noutput y\n".replace("'a'", '"a"').replace(
            "KEY", json.dumps(name)
        )
    )
    if (
        run(["eval", "dict.tg", "--format", "npz", "-o", "z.npz"]) == 0
    ):  # such a key may be none of the language's
        verify_below(Path("z.npz").read_bytes())


@pytest.mark.usefixtures("outside")
def test_names_of_programs_in_an_archive() -> None:
    """Where there are several they come first."""
    programs = [Path("../a.tg"), Path("../folder/b.tg").absolute()]
    for program in programs:
        program.write_text("var x = 2.0; y = x**2")
    assert run(["eval", *map(str, programs), "--format", "npz", "-o", "y.npz"]) == 0
    verify_below(Path("y.npz").read_bytes())


def verify_below(data: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
    assert names
    for name in names:
        assert not {".", "..", ""} & set(name.split("/")), name
        assert name.isprintable(), name
        assert "\\" not in name


@given(st.text(st.characters(exclude_categories=["Cs"])), st.text(alphabet="./%25EF\\a"))
def test_names_of_members(first: str, second: str) -> None:
    """Below the archive's folder, without control characters, and different for different names."""
    for name in (first, second):
        made = member_name(name)
        assert not {".", "..", ""} & set(made.split("/")) or not name
        assert "\\" not in made
        assert not any(c < " " or "\x7f" <= c <= "\x9f" for c in made)
    assert (member_name(first) == member_name(second)) == (first == second)
    assert member_name("samples/a.tg:f/x") == "samples/a.tg:f/x"
