"""Defaults that stand in a project: `[tool.gradcli]` of pyproject.toml, or gradcli.toml, here or in a folder above.

    [tool.gradcli]
    dtype = "float32"           # for every command that has --dtype
    [tool.gradcli.eval]
    precision = 12              # for one command

Keys are long options without their dashes; the command line wins.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..diagnostics import Diagnostic, GradcliError, did_you_mean

# What belongs to one call and not to a project.
_PER_CALL = {"help", "files", "expr", "output", "traceback", "name", "code"}


def defaults() -> dict[str, dict[str, Any]]:
    """The defaults of each command, as click's default_map; {} where no file has any. Raises GradcliError (E007)."""
    path, table = _find()
    if not table:
        return {}
    from .app import COMMANDS, load_command

    options = {name: _options(load_command(name)) for name in COMMANDS}
    anywhere = {key for known in options.values() for key in known}
    result: dict[str, dict[str, Any]] = {name: {} for name in COMMANDS}
    for key, value in table.items():
        if key in options and isinstance(value, dict):
            for inner, setting in value.items():
                _verify(path, f"{key}.{inner}", inner, options[key])
                _set(result[key], options[key][inner], setting)
            continue
        _verify(path, key, key, anywhere | set(COMMANDS))
        for name, known in options.items():
            if key in known and known[key].name not in result[name]:
                _set(result[name], known[key], value)
    return result


def _set(settings: dict[str, Any], parameter: Any, value: Any) -> None:
    """Takes a setting; one value of an option that takes several may stand alone, as on the command line."""
    settings[parameter.name] = [value] if parameter.multiple and not isinstance(value, list) else value


def _options(command: Any) -> dict[str, Any]:
    """The parameters of a command by their long options, without the dashes."""
    spelled = {opt[2:]: parameter for parameter in command.params for opt in parameter.opts if opt.startswith("--")}
    return {key: parameter for key, parameter in spelled.items() if key not in _PER_CALL}


def _verify(path: Path, shown: str, key: str, known: Any) -> None:
    if key not in known:
        help = did_you_mean(key, known) or "keys are long options without their dashes"
        raise GradcliError(Diagnostic("E007", f"{path}: there is no setting `{shown}`", help=help))


def _find() -> tuple[Path, dict[str, Any]]:
    """The nearest file with settings, and its table."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        for path, section in ((folder / "gradcli.toml", ()), (folder / "pyproject.toml", ("tool", "gradcli"))):
            try:
                text = path.read_text(encoding="utf-8")
            except OSError:
                continue
            except UnicodeDecodeError:
                raise GradcliError(Diagnostic("E007", f"{path}: not UTF-8 text")) from None
            if section and "gradcli" not in text:
                continue
            table = _parse(path, text)
            for key in section:
                table = table.get(key) or {}
            if table or not section:
                return path, table
    return here, {}


def _parse(path: Path, text: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise GradcliError(Diagnostic("E007", f"{path}: {error}", help="it isn't valid TOML")) from None
