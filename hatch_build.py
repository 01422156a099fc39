"""Build hook: makes the parse table from the grammar, so that nobody who runs gradcli needs
Lark."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ParseTableHook(BuildHookInterface[Any]):
    """Writes `gradcli/lang/table.json`; the wheel takes it along as an artifact."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        root = Path(self.root)
        maker = _load(root / "gradcli" / "lang" / "grammar.py")
        table = maker.make_table((root / "grammar" / "gradcli.lark").read_bytes())
        maker.write_table(table, root / "gradcli" / "lang" / "table.json")


def _load(path: Path) -> Any:
    """The module at `path` alone, without the package around it, whose dependencies a build doesn't
    have."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
