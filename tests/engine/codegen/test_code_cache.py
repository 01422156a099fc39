"""Machine code that is kept on disk: found again, never trusted where it may be another's."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from gradcli.engine.codegen import cache
from gradcli.engine.codegen.cache import cached, remember, remembered

CHECKOUT = Path(__file__).parents[3]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GRADCLI_CACHE_DIR", str(tmp_path / "above" / "cache"))
    cache._folder.cache_clear()
    return tmp_path / "above" / "cache"


def makes(source: bytes = b"source", code: bytes = b"code") -> bool:
    """Whether code has to be made."""
    made = []

    def make() -> bytes:
        made.append(code)
        return code

    assert cached(source, make) == code
    return bool(made)


def only_file(folder: Path) -> Path:
    [path] = folder.iterdir()
    return path


def test_code_is_made_once(folder: Path) -> None:
    assert makes()
    assert not makes()
    assert makes(b"another")
    assert not makes()


def test_what_is_remembered_is_found_again(folder: Path) -> None:
    assert remembered(b"this") == 0
    remember(b"this", 3)
    assert remembered(b"this") == 3
    remember(b"this", 2)
    assert remembered(b"this") == 2
    assert remembered(b"that") == 0
    only_file(folder).write_bytes(b"another's")
    assert remembered(b"this") == 0


def test_an_empty_note_is_none(folder: Path) -> None:
    """As earlier versions left them."""
    cached(b"this", bytes)
    assert remembered(b"this") == 0
    remember(b"this", 3)
    assert remembered(b"this") == 3


def test_it_is_found_by_the_next_process(folder: Path) -> None:
    assert makes()
    cache._folder.cache_clear()
    assert not makes()


def test_the_folder_is_the_users_alone(folder: Path) -> None:
    assert makes()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o702])
def test_a_folder_that_others_may_enter_is_not_used(folder: Path, mode: int) -> None:
    folder.mkdir(parents=True)
    folder.chmod(mode)
    assert makes()
    assert makes()
    assert list(folder.iterdir()) == []


def test_a_folder_of_another_user_is_not_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert makes()
    cache._folder.cache_clear()
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    assert makes()


def test_a_link_is_not_followed(folder: Path, tmp_path: Path) -> None:
    assert makes()
    cache._folder.cache_clear()
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    assert makes()


@pytest.mark.parametrize("given", ["none", "a/b"])
def test_a_path_that_is_not_absolute_keeps_nothing(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRADCLI_CACHE_DIR", given)
    assert makes()
    assert makes()
    assert list(tmp_path.iterdir()) == []


def test_where_no_folder_can_be_made_nothing_is_kept(folder: Path) -> None:
    folder.parent.write_text("a file")
    assert makes()
    assert makes()


@pytest.mark.parametrize("harm", ["cut", "changed", "empty", "renamed", "linked"])
def test_a_file_that_was_harmed_is_made_again(folder: Path, harm: str, tmp_path: Path) -> None:
    assert makes(b"another", b"other code")
    other = only_file(folder).rename(tmp_path / "other")
    assert makes()
    path = only_file(folder)
    content = path.read_bytes()
    if harm == "renamed":
        path.write_bytes(other.read_bytes())
    elif harm == "linked":
        path.rename(tmp_path / "code")
        path.symlink_to(tmp_path / "code")
    else:
        path.write_bytes({"cut": content[:-1], "changed": content[:-1] + b"x", "empty": b""}[harm])
    assert makes()
    assert not makes()
    assert only_file(folder) == path


def test_a_full_disk_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert makes()
    assert list(folder.iterdir()) == []


def test_the_least_recently_used_are_removed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "LIMIT", 60_000)
    monkeypatch.setattr(cache, "REMOVED_PER", 60_000 // 16)
    code = bytes(5_400)
    for k in range(9):
        makes(bytes([k]), code)
    for k, path in enumerate(sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns)):
        os.utime(path, (k, k))  # the order, whatever the clock's resolution
    (folder / "killed.partial").write_bytes(code)
    os.utime(folder / "killed.partial", (0, 0))
    assert not makes(bytes([0]), code)  # which is then the latest
    for k in range(9, 15):
        makes(bytes([k]), code)
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 60_000 + 60_000 // 16
    assert not (folder / "killed.partial").exists()
    assert not makes(bytes([0]), code)
    assert makes(bytes([1]), code)


def test_small_files_are_removed_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They take room on the disk, and a folder of a million files is slow."""
    monkeypatch.setattr(cache, "LIMIT", 20 * cache.LEAST)
    monkeypatch.setattr(cache, "REMOVED_PER", cache.LEAST)
    for k in range(100):
        remember(bytes([k]), 1)
    assert len(list(folder.iterdir())) <= 22


PROGRAM = """
from gradcli.engine.codegen.llvm import assembly
from gradcli.engine.codegen.llvm.functions import compiled
from gradcli.engine.ir.parser import parse

made = assembly._object
assembly._object = lambda *given: print("made") or made(*given)
[region] = parse("region f(%0: f64) -> (f64) {\\n%1 = sin %0 : f64\\nreturn %1\\n}\\n")
print(*compiled(region)(0.5))
"""


def test_a_second_run_compiles_nothing(folder: Path) -> None:
    pytest.importorskip("llvmlite")
    command = [sys.executable, "-c", PROGRAM]
    runs = [
        subprocess.run(command, capture_output=True, text=True, check=True, cwd=CHECKOUT)
        for _ in range(2)
    ]
    assert [run.stdout for run in runs] == ["made\n0.479425538604203\n", "0.479425538604203\n"]
