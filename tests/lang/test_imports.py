"""What imports give, where they may lead, and where their errors are shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcli.diagnostics import GradcliError
from gradcli.lang import program
from gradcli.lang.imports import Importer
from gradcli.lang.parser import parse, read_source
from gradcli.lang.resolve import resolve


def load(folder: Path, name: str) -> program.Program:
    source = read_source(folder / name, name)
    return resolve(parse(source), source, Importer(folder / name).load)


def test_imports(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "main.tg").write_text(
        'import "sub/a.tg" as a\nimport "sub/b.tg" as b\ny = a.x + b.x + b.f(1)\n'
    )
    (tmp_path / "sub" / "a.tg").write_text(
        'import "b.tg" as b\nx = b.x\nprint x\noutput x\nexpect x == 2\n'
    )
    (tmp_path / "sub" / "b.tg").write_text("x = 1\nfn f(a) = a\n")
    tree = load(tmp_path, "main.tg")
    a, b = (node.program for node in tree.body if isinstance(node, program.Import))
    (again,) = (node.program for node in a.body if isinstance(node, program.Import))
    assert again is b, "a file is loaded once for all who import it"
    assert not [
        node for node in a.body if isinstance(node, program.Print | program.Output | program.Expect)
    ]
    assert a.source.name == "sub/a.tg"


@pytest.mark.parametrize(
    "path", ["../secret.tg", "link/secret.tg", "link.tg", "/etc/passwd", "a\\0b.tg", "folder.tg"]
)
def test_imports_stay_in_their_folder(tmp_path: Path, path: str) -> None:
    (tmp_path / "secret.tg").write_text("k = 1\n")
    inner = tmp_path / "inner"
    (inner / "folder.tg").mkdir(parents=True)
    (inner / "link").symlink_to(tmp_path)
    (inner / "link.tg").symlink_to(tmp_path / "secret.tg")
    (inner / "main.tg").write_text(f'import "{path}" as s\ny = s.k\n')
    with pytest.raises(GradcliError, match=r"E220(.|\n)*main\.tg:1:1"):
        load(inner, "main.tg")


def test_errors_of_an_import_are_shown_where_they_are(tmp_path: Path) -> None:
    (tmp_path / "main.tg").write_text('import "a.tg" as a\ny = nowhere\n')
    (tmp_path / "a.tg").write_text("\nx = nowhere\n")
    with pytest.raises(GradcliError) as caught:
        load(tmp_path, "main.tg")
    assert {str(diagnostic.span) for diagnostic in caught.value.diagnostics} == {
        "a.tg:2:5",
        "main.tg:2:5",
    }


def test_a_long_chain_of_imports_is_refused(tmp_path: Path) -> None:
    for k in range(60):
        (tmp_path / f"m{k}.tg").write_text(f'import "m{k + 1}.tg" as next\n')
    with pytest.raises(GradcliError, match="E402"):
        load(tmp_path, "m0.tg")
