"""The regions that call each other, by name, and the derivatives of calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ..ir.instructions import Block, Call, Region, Value, blocks_of, every
from .dead_code import without_dead_code
from .folding import fold
from .rules import NoRule


class Rule(NamedTuple):
    """The derivative rule that a function has of its own, as a region. It takes the parameters of
    the function's region and a cotangent for each result, all floats. It gives a cotangent, and
    whether it is connected, for each of the `moving` parameters, by their positions. The other
    parameters are `captured`."""

    region: Region
    moving: Sequence[int]
    captured: Sequence[int]


class Regions:
    """The regions that may be called. The derivative of a call is a call of a derived region, which
    is made once for each choice of parameters and results; so a region may call itself. Some
    regions, and those derived from them, keep nothing for their pullback, which computes them
    again. Others have a rule of their own."""

    def __init__(self, regions: Iterable[Region] = ()) -> None:
        self._named = {region.name: region for region in regions}
        self._again: set[str] = set()
        self._rules: dict[str, Rule] = {}
        self._bodies: set[str] = set()  # those whose tangents go through a body with a rule

    def add(self, region: Region) -> None:
        self._named[region.name] = region

    def add_again(self, region: Region) -> str:
        """Adds a region whose pullback computes it again, under a name of its own."""
        name = f"{len(self._again)}_again_{region.name}"
        self._again.add(name)
        self.add(Region(name, region.block))
        return name

    def add_rule(self, name: str, rule: Rule) -> None:
        """Adds the rule of a region."""
        self._rules[name] = rule

    def rule_of(self, name: str) -> Rule | None:
        """The rule of a region, if it has one of its own."""
        return self._rules.get(name)

    def has_rules(self, region: Region) -> bool:
        """Whether a region, or one that it calls, calls a region with a rule of its own."""
        blocks = [each.block for each in (region, *self.called_by(region))]
        calls = [made for block in blocks for made in every(block) if isinstance(made, Call)]
        return any(made.region in self._rules for made in calls)

    def verify_rules(self, block: Block, varied: set[Value]) -> None:
        """Raises NoRule where rules have no cotangents for `varied` values of a block: values that
        a function with a rule captures, and operands of calls whose tangents go through the body of
        such a function."""
        for made in every(block):
            if not isinstance(made, Call):
                continue
            rule = self.rule_of(made.region)
            without = [made.operands[k] for k in rule.captured] if rule else made.operands
            if (rule or made.region in self._bodies) and not varied.isdisjoint(without):
                raise NoRule(
                    "a derivative by a value for which a rule has no gradient is not compiled"
                )

    def keeps_nothing(self, name: str) -> bool:
        """Whether a call of a region keeps nothing for its pullback: the pullback computes the
        region again, or is a rule."""
        return name in self._again or name in self._rules

    def called_by(self, region: Region) -> list[Region]:
        """The regions that a region calls, directly or not."""
        found: dict[str, Region] = {}
        pending = [region.block]
        while pending:
            for made in pending.pop().instructions:
                pending += blocks_of(made)
                if isinstance(made, Call) and made.region not in found:
                    found[made.region] = self.of(made.region)
                    pending.append(found[made.region].block)
        return list(found.values())

    def has(self, name: str) -> bool:
        """Whether there is a region of this name. One that is still being lowered doesn't count."""
        return name in self._named

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
        """Derives regions from the one called `name`, for parameters and results at `places`,
        unless that was done before. Returns their names, one for each of `ways`. They begin with a
        digit, so no name of a program is the same. Raises NoRule."""
        where = "__".join(["_".join(map(str, part)) for part in places])
        names = [f"{where}_{way}_{name}" for way in ways]
        if names[0] not in self._named:
            self._named.update({new: Region(new, Block()) for new in names})  # for recursive calls
            self._again.update(names if name in self._again else ())
            if name in self._rules or name in self._bodies:
                self._bodies.update(names)
            try:
                for new, region in zip(names, derive(self.of(name)), strict=True):
                    self._named[new].block = without_dead_code(fold(region)).block
            except NoRule:
                for new in names:
                    del self._named[new]
                raise
        return names
