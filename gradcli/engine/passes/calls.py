"""Regions that call each other, by name, and those that are derived from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..ir.instructions import Block, Call, Region, blocks_of
from .dead_code import without_dead_code
from .folding import fold
from .rules import NoRule


class Regions:
    """The regions that may be called. The derivative of a call is a call of a derivative, which is
    made once for each choice of parameters and results, and may be one of regions that call
    themselves. Of some, and of what is derived from these, the pullback computes them again; others
    have a rule of their own."""

    def __init__(self, regions: Iterable[Region] = ()) -> None:
        self._named = {region.name: region for region in regions}
        self._again: set[str] = set()
        self._rules: dict[str, Region] = {}  # by the names of the regions that they are of
        self._along_rules: set[str] = set()  # of these, what also gives tangents

    def add(self, region: Region) -> None:
        self._named[region.name] = region

    def add_again(self, region: Region) -> str:
        """Adds a region whose pullback computes it again, under a name of its own."""
        name = f"{len(self._again)}_again_{region.name}"
        self._again.add(name)
        self.add(Region(name, region.block))
        return name

    def add_rule(self, name: str, rule: Region) -> None:
        """Adds the rule of a region: it takes the parameters of the region, whose results are all
        floats, and a cotangent for each; and gives a cotangent for each parameter that may have
        one, and whether it is connected. Parameters behind these have none."""
        self._rules[name] = rule
        self.add(rule)

    def rule_of(self, name: str) -> Region | None:
        """The rule of a region, if it has one of its own."""
        return self._rules.get(name)

    def verify_pulled_back(self, name: str) -> None:
        """Raises NoRule for a region that goes through the body of one with a rule of its own:
        backwards, its values have that rule, and its tangents have none."""
        if name in self._along_rules:
            raise NoRule("a gradient of a tangent through a rule is not compiled")

    def is_again(self, name: str) -> bool:
        """Whether the pullback of a region starts from its parameters: it computes the region
        again, or is the region's own rule."""
        return name in self._again or name in self._rules

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
            if ways == ("along",) and (name in self._rules or name in self._along_rules):
                self._along_rules.update(names)
            try:
                for new, region in zip(names, derive(self.of(name)), strict=True):
                    self._named[new].block = without_dead_code(fold(region)).block
            except NoRule:
                for new in names:
                    del self._named[new]
                raise
        return names
