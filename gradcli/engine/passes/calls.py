"""Regions that call each other, by name, and those that are derived from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ..ir.instructions import Block, Call, Region, Value, blocks_of, every
from .dead_code import without_dead_code
from .folding import fold
from .rules import NoRule


class Ruled(NamedTuple):
    """What is known of the region of a function with a rule of its own, or of one that is derived
    from that.

    captured  the positions of parameters that hold what the function captures
    rule      the rule of the region itself
    is_along  whether it carries tangents along, through the body of the function
    """

    captured: range
    rule: Region | None
    is_along: bool = False


class Regions:
    """The regions that may be called. The derivative of a call is a call of a derivative, which is
    made once for each choice of parameters and results, and may be one of regions that call
    themselves. Of some, and of what is derived from these, the pullback computes them again; others
    have a rule of their own."""

    def __init__(self, regions: Iterable[Region] = ()) -> None:
        self._named = {region.name: region for region in regions}
        self._again: set[str] = set()
        self._ruled: dict[str, Ruled] = {}

    def add(self, region: Region) -> None:
        self._named[region.name] = region

    def add_again(self, region: Region) -> str:
        """Adds a region whose pullback computes it again, under a name of its own."""
        name = f"{len(self._again)}_again_{region.name}"
        self._again.add(name)
        self.add(Region(name, region.block))
        return name

    def add_rule(self, name: str, rule: Region, captured: range) -> None:
        """Adds the rule of a region: it takes the parameters of the region, whose results are all
        floats, and a cotangent for each; and gives a cotangent for each float of the parameters
        that aren't `captured`, by their positions, and whether it is connected."""
        self._ruled[name] = Ruled(captured, rule)
        self.add(rule)

    def rule_of(self, name: str) -> Region | None:
        """The rule of a region, if it has one of its own."""
        return self._ruled[name].rule if name in self._ruled else None

    def verify_rules(self, block: Block, varied: set[Value]) -> None:
        """Raises NoRule where rules have no cotangents for the `varied` values of a block: those
        that a function with a rule captures, and those of which it has carried tangents along."""
        for made in every(block):
            ruled = self._ruled.get(made.region) if isinstance(made, Call) else None
            if ruled is not None:
                asked = (
                    made.operands if ruled.is_along else [made.operands[k] for k in ruled.captured]
                )
                if not varied.isdisjoint(asked):
                    raise NoRule("what a rule has no gradient for is not compiled")

    def is_again(self, name: str) -> bool:
        """Whether the pullback of a region starts from its parameters: it computes the region
        again, or is the region's own rule."""
        return name in self._again or self.rule_of(name) is not None

    def called_by(self, region: Region) -> list[Region]:
        """The regions that a region calls, also by others."""
        found: dict[str, Region] = {}
        pending = [region.block]
        while pending:
            for made in pending.pop().instructions:
                pending += blocks_of(made)
                if isinstance(made, Call) and made.region not in found:
                    found[made.region] = self.of(made.region)
                    pending.append(found[made.region].block)
        return list(found.values())

    def of(self, name: str) -> Region:
        """The region of a name. Raises NoRule."""
        if name not in self._named:
            raise NoRule("the derivative of this call is not compiled")
        return self._named[name]

    def derived(
        self,
        ways: Sequence[str],
        name: str,
        places: Iterable[Iterable[int]],
        derive: Callable[[Region], Iterable[Region]],
    ) -> list[str]:
        """The names of what is derived from a region in some ways, for parameters and results at
        some places. They begin with a digit, as no name of a program does. Raises NoRule."""
        where = "__".join(["_".join(map(str, part)) for part in places])
        names = [f"{where}_{way}_{name}" for way in ways]
        if names[0] not in self._named:
            self._named.update({new: Region(new, Block()) for new in names})  # which calls find
            self._again.update(names if name in self._again else ())
            if name in self._ruled:
                derived = Ruled(self._ruled[name].captured, None, ways == ("along",))
                self._ruled.update(dict.fromkeys(names, derived))
            try:
                for new, region in zip(names, derive(self.of(name)), strict=True):
                    self._named[new].block = without_dead_code(fold(region)).block
            except NoRule:
                for new in names:
                    del self._named[new]
                raise
        return names
