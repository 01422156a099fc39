"""What a worker makes of a plan, wherever it is: the program compiled, on a device of its own."""

from __future__ import annotations

from dataclasses import replace

from ...engine.backends.selection import devices_of
from ..programs import parse_program
from .block import Computer
from .plan import Plan


def computer_for(plan: Plan, number: int) -> Computer:
    """What computes by a plan, in the worker of this number."""
    options = plan.options.with_changes(device=own_device(plan.options.device, number))
    node = parse_program(plan.source, {*plan.shared, *plan.columns}, plan.imports)
    return Computer(replace(plan, options=options), node)


def own_device(device: str, number: int) -> str:
    """The device of this worker: of several that it sees, the one that it is dealt by its
    number."""
    there = devices_of(device)
    return there[number % len(there)]
