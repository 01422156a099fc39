"""Arrays of rows that have the same memory, because branches and loops change them in place."""

from __future__ import annotations

import pytest

from gradcli.engine.codegen.llvm_rows.same_memory import SameMemory
from gradcli.engine.ir.instructions import Branch, Region, every
from gradcli.engine.ir.parser import parse

CHANGED = "%9 = put %0, %1, %2\nyield %9"
LOOP = "%9, %10 = for %11 in %1 with (%12 = %0, %13 = %4) {{\n{}\n}}\nyield %9"

# The two sides of a branch on the arrays %0 and %4; whether its result is %0 in place, and
# whether a loop swaps arrays.
SIDES = {
    "one side changes it": (CHANGED, "yield %0", True, False),
    "both change it": (CHANGED, "%20 = put %0, %1, %3\nyield %20", True, False),
    "the other side has another": (CHANGED, "yield %4", False, False),
    "a side makes one": ("%9 = copy %0\nyield %9", "yield %0", False, False),
    "a loop changes it": (
        LOOP.format("%14 = put %12, %11, %2\nyield %14, %13"), "yield %0", True, False),
    "a loop changes it in a branch": (
        LOOP.format(
            "%14 = if %5 {\n%15 = put %12, %11, %2\nyield %15\n} else {\nyield %12\n}\n"
            "yield %14, %13"), "yield %0", True, False),
    "a loop swaps two": (LOOP.format("yield %13, %12"), "yield %0", True, True),
}  # fmt: skip


def region(body: str) -> Region:
    head = "region f(%0: f64[3], %1: i64, %2: f64, %3: f64, %4: f64[3], %5: bool)"
    [found] = parse(f"{head} -> (f64[3]) {{\n{body}\nreturn %8\n}}")
    return found


@pytest.mark.parametrize("name", SIDES)
def test_sides_of_a_branch(name: str) -> None:
    then, otherwise, in_place, swaps = SIDES[name]
    found = region(f"%8 = if %5 {{\n{then}\n}} else {{\n{otherwise}\n}}")
    memory = SameMemory(found.block)
    (result,) = found.block.results
    assert memory.by_branches.get(result) is (found.block.parameters[0] if in_place else None)
    assert memory.swaps is swaps


def test_branches_in_branches() -> None:
    """However many are inside each other, each is looked at once."""
    body = "%50 = put %0, %1, %2\nyield %50"
    for k in range(51, 91):
        body = f"%{k} = if %5 {{\n{body}\n}} else {{\nyield %0\n}}\nyield %{k}"
    found = region(f"%8 = if %5 {{\n{body}\n}} else {{\nyield %0\n}}")
    branches = [made for made in every(found.block) if isinstance(made, Branch)]
    wanted = {made.results[0]: found.block.parameters[0] for made in branches}
    assert SameMemory(found.block).by_branches == wanted
