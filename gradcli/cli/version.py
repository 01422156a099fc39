"""`gradcli --version`, and with `--verbose` the versions of what gradcli runs on.

They are read from the metadata of the installed packages: nothing is imported, so it works too
where one of them can't be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .. import __version__
from .standard_output import printing

_TOOLS = frozenset(["dev", "docs", "test"])  # extras for working on gradcli, not with it
_GRAMMAR = "lark"  # which only a checkout without a parse table needs

FLAGS = {"--version": "version", "--verbose": "verbose", "-v": "verbose"}


def quickly(arguments: Sequence[str]) -> bool:
    """Answers a command line that only asks for the version; False where it asks for more."""
    asked = {FLAGS.get(argument, "") for argument in arguments}
    if "version" not in asked or "" in asked:
        return False
    show("verbose" in asked)
    return True


def show(verbose: bool) -> None:
    """Prints the version, and with `verbose` a line for each package that gradcli can use."""
    lines = [f"gradcli {__version__}"]
    if verbose:
        known = [_python(), *_packages()]
        width = max(len(name) for name, _ in known)
        lines += [f"{name:<{width}}  {version}" for name, version in known]
    with printing():
        print(*lines, sep="\n", flush=True)


def _python() -> tuple[str, str]:
    import platform

    implementation = platform.python_implementation()
    return "Python", f"{platform.python_version()} ({implementation}, {platform.platform()})"


def _packages() -> Iterator[tuple[str, str]]:
    """Each package that the installed gradcli requires, or that an extra of it names, and those
    that add builtins to it."""
    from importlib.metadata import PackageNotFoundError, distributions, entry_points, requires

    installed = {_canonical(found.name): found for found in distributions()}
    try:
        required = requires("gradcli") or []
    except PackageNotFoundError:  # the package lies in a folder that nothing has installed
        required = []
    extras: dict[str, list[str]] = {_GRAMMAR: []}
    for requirement in required:
        name = _canonical(re.split(r"[^\w.-]", requirement, maxsplit=1)[0])
        extra = re.search(r"extra == ['\"]([\w-]+)", requirement)
        if extra is None or extra[1] not in _TOOLS:
            extras.setdefault(name, []).extend(extra.groups() if extra else ())
    for name, wanted_by in extras.items():
        # CuPy has a package for each version of CUDA
        found = [known for known in installed if _family(known) == _family(name)]
        absent = f"not installed (extra {', '.join(wanted_by)})" if wanted_by else "not installed"
        yield from ((known, installed[known].version) for known in found or ())
        if not found:
            yield name, absent
    for entry in entry_points(group="gradcli.ops"):
        if entry.dist is not None:
            yield entry.dist.name, f"{entry.dist.version} (adds builtins)"


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _family(name: str) -> str:
    return re.sub(r"-cuda.*", "", name)
