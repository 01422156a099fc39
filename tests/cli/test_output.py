"""Writing answers: files whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gradcli.cli.output import write
from gradcli.diagnostics import GradcliError


def test_a_file_is_replaced_and_keeps_its_mode(tmp_path: Path) -> None:
    target = tmp_path / "y.txt"
    target.write_text("old")
    target.chmod(0o640)
    write("∂ new\n", str(target))
    assert target.read_text(encoding="utf-8") == "∂ new\n"
    assert target.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["y.txt"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "y.bin")
    write(b"\x00\x01", str(tmp_path / "link"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "y.bin").read_bytes() == b"\x00\x01"


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(GradcliError, match="make it first") as caught:
        write("y", str(tmp_path / "no" / "y.txt"))
    assert caught.value.exit_code == 2
    assert os.listdir(tmp_path) == []


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(GradcliError, match="cannot write"):
        write("y", str(tmp_path))


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "y.txt"
    target.write_text("old")

    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(GradcliError, match="No space left"):
        write("new", str(target))
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["y.txt"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no such device here")
def test_a_full_device() -> None:
    with pytest.raises(GradcliError, match="No space left"):
        write("y", "/dev/full")
