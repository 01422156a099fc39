"""Instances of modules: their members, and the variables of a run that are in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from ...diagnostics import Span, did_you_mean
from ...lang import program
from ..trace.run import Run
from ..values.contents import contents, variables
from ..values.kinds import UNSET, Instance, List, Variable, describe, slot_value

# ---- members -------------------------------------------------------------------------------------


def member(run: Run, instance: Instance, name: str, span: Span) -> Any:
    """`instance.name`: a name of the module's body, or a member that every instance has. Raises
    GradcliError (E309) where there is neither."""
    value = instance.member(name)
    if value is not UNSET:
        return value
    if name in instance.slots:
        help = f"no statement that assigns it was executed when `{instance.path}` was made"
        run.fail(
            "E309", f"`{name}` has no value in this instance of `{instance.name}`", span, help=help
        )
    if name in _MEMBERS:
        return _MEMBERS[name](instance)
    known = [*instance.slots, *_MEMBERS]
    label = f"it has {', '.join(f'`{k}`' for k in known[:12])}"
    run.fail(
        "E309",
        f"an instance of `{instance.name}` has no member `{name}`",
        span,
        label,
        did_you_mean(name, known),
    )


_MEMBERS: dict[str, Callable[[Instance], Any]] = {
    "trainable_variables": lambda instance: List(
        [v for _, v in variables(instance) if v.trainable]
    ),
    "variables": lambda instance: List([v for _, v in variables(instance)]),
    "name": lambda instance: instance.path,
}


def call_member(run: Run, instance: Instance, span: Span) -> Any:
    """The function that a call of an instance calls: `call` of its module. Raises GradcliError
    (E308) where the module defines none."""
    value = instance.member("call")
    if value is UNSET:
        message = f"{describe(instance)} can't be called: `{instance.name}` defines no `call`"
        run.fail(
            "E308",
            message,
            span,
            help="write `fn call(…)` in the module, or call one of its functions by name",
        )
    return value


def refuse_assignment(run: Run, instance: Instance, name: Any, span: Span) -> NoReturn:
    """Raises GradcliError (E312) for an assignment to a member of an instance: only the module's
    body binds its names."""
    if type(name) is str and type(instance.member(name)) is Variable:
        help = f"`{name}` is a variable, and updated with `:=`"
    else:
        help = (
            f"declare it with `var` in `{instance.name}` and update it with `:=`, or make it a "
            "parameter of the module"
        )
    run.fail(
        "E312",
        f"the members of an instance of `{instance.name}` can't be assigned",
        span,
        help=help,
    )


# ---- the variables of a run ----------------------------------------------------------------------


def named_variables(run: Run, node: program.Program, frame: list[Any]) -> dict[str, Variable]:
    """All variables that the top level can name, by path and in the order of the names: the
    declared ones, and those in instances that its names hold at the end of the program. Variables
    that were replaced are included."""
    if not node.has_modules:
        return run.declared
    declared: dict[str, list[Variable]] = {}
    for path, variable in run.declared.items():
        declared.setdefault(path.partition(".")[0], []).append(variable)
    found: dict[str, Variable] = {}
    seen = set(run.declared.values())
    for name, slot in node.names.items():
        found.update((variable.name, variable) for variable in declared.get(name, ()))
        for path, part in contents(slot_value(frame, slot), name):
            if isinstance(part, Instance):
                found.update(_replaced(run, part, path))
            elif part not in seen:
                seen.add(part)
                found[path] = part
    return found


def _replaced(run: Run, instance: Instance, path: str) -> Iterator[tuple[str, Variable]]:
    """The variables of an instance whose names hold something else now."""
    for name, value in instance.members():
        if type(value) is not Variable and f"{instance.path}.{name}" in run.replaced:
            yield f"{path}.{name}", run.replaced[f"{instance.path}.{name}"][0]
