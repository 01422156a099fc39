"""The texts that passes make of others, in `golden`: a file for each pass, a case after each `#`,
and after `=>` what the pass gives. `python -m tests.engine.passes.golden_passes` writes that
anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from gradcli.engine.ir.instructions import Region
from gradcli.engine.ir.parser import parse
from gradcli.engine.ir.printer import text
from gradcli.engine.ir.types import has_tangents
from gradcli.engine.ir.verifier import verify
from gradcli.engine.passes.arrays.fusion import fuse
from gradcli.engine.passes.arrays.keeping import keep
from gradcli.engine.passes.arrays.ownership import owned
from gradcli.engine.passes.arrays.packing import pack
from gradcli.engine.passes.arrays.whole_arrays import call_on_arrays
from gradcli.engine.passes.calls import Regions
from gradcli.engine.passes.dead_code import without_dead_code
from gradcli.engine.passes.derivatives.checkpoints import in_blocks
from gradcli.engine.passes.derivatives.jvp import jvp
from gradcli.engine.passes.derivatives.recording import record
from gradcli.engine.passes.derivatives.vjp import vjp
from gradcli.engine.passes.expansion import expand
from gradcli.engine.passes.folding import fold
from gradcli.engine.passes.hoisting import apart, hoist
from gradcli.engine.passes.plain_products import with_plain_products
from gradcli.engine.passes.reading_through import read_through

FOLDER = Path(__file__).parent / "golden"
ARROW = "=>\n"


class Case(NamedTuple):
    """What a pass makes of a region."""

    name: str
    before: str
    after: str


def _by_all(derivative: Callable[..., Region], region: Region) -> list[Region]:
    """A derivative by all parameters that have one."""
    wrt = [k for k, value in enumerate(region.block.parameters) if has_tangents(value.type)]
    return [derivative(region, wrt)]


def _in_blocks(region: Region) -> list[Region]:
    regions = Regions()
    divided = in_blocks(region, regions)
    return [divided, *regions.called_by(divided)]


def _apart(region: Region) -> list[Region]:
    """The parts for rows that have the first parameter alone."""
    before, _, of_row = apart(region, [k == 0 for k, _ in enumerate(region.block.parameters)])
    return [before, of_row]


PASSES: dict[str, Callable[[Region], list[Region]]] = {
    "fold": lambda region: [fold(region, last=True)],
    "hoist": lambda region: [hoist(region)],
    "read_through": lambda region: [read_through(region)],
    "without_dead_code": lambda region: [without_dead_code(region)],
    "expand": lambda region: [expand(*_by_all(vjp, region))],  # rules have no text that is read
    "jvp": partial(_by_all, jvp),
    "vjp": partial(_by_all, vjp),
    "fuse": lambda region: [fuse(region)],
    "owned": lambda region: owned(region),
    "keep": lambda region: [keep(region)],
    "record": lambda region: [record(region)],
    "call_on_arrays": lambda region: [call_on_arrays(region)],
    "pack": lambda region: [pack(region)],
    "in_blocks": _in_blocks,
    "with_plain_products": lambda region: [with_plain_products(region)],
    "apart": _apart,
}


def made(name: str, before: str) -> str:
    """What a pass makes of a text; both are verified, and what the pass is given stays as it is."""
    [region] = parse(before)
    verify([region])
    found = PASSES[name](region)
    verify(found)
    assert text([region]) == before
    return text(found)


def cases(name: str) -> Iterator[Case]:
    """The cases of a pass."""
    for part in (FOLDER / f"{name}.txt").read_text().split("# ")[1:]:
        title, _, texts = part.partition("\n")
        before, _, after = texts.partition(ARROW)
        yield Case(title, before.strip() + "\n", after.strip() + "\n")


def write(name: str, found: list[Case]) -> None:
    parts = [f"# {case.name}\n{case.before}{ARROW}{case.after}" for case in found]
    (FOLDER / f"{name}.txt").write_text("\n".join(parts))


if __name__ == "__main__":
    for each in PASSES:
        write(each, [case._replace(after=made(each, case.before)) for case in cases(each)])
