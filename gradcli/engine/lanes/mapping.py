"""`vmap(f)`: one call of a function for many rows at once.

The arguments become lanes, one call computes all rows, and the results get the rows as their first
axis. Rows that take different paths divide and join inside the call (`divergence.py`). Where they
can't run together, because a shape or the next function depends on a row's own value, the call is
repeated for each set of rows that can (`group_calls.py`).

A trace that is read back operation by operation on numbers (`rows_one_by_one` of `Trace`) wants few
rows in one call for each: its records then hold numbers instead of lanes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from ...diagnostics import GradcliError
from ...ops import OPS
from ..backends.backend import shape_of
from ..operations.apply import apply
from ..operations.sequences import with_arrays
from ..trace.changes import take_back
from ..trace.run import Run
from ..trace.tape import Site
from ..values.boxes import primal
from ..values.kinds import List, Transform, describe, is_number, leaves, map_structure, read
from ..values.lanes import Group, UnrelatedError
from .group_calls import Separate, call_group, first_failure
from .row_lists import FOLD, UNFOLD, as_lists


def call_mapped(
    run: Run, transform: Transform, arguments: list[Any], keywords: dict[str, Any], site: Site
) -> Any:
    """Calls `vmap(f)`; keywords have their rows along the first axis. Raises GradcliError (E314)
    for arguments without such an axis, or with different numbers of rows."""
    pairs = _with_axes(run, transform, arguments, keywords, site)
    group = open_rows(run, _row_count(run, transform, pairs, site))
    if 0 < group.size <= run.trace.rows_one_by_one:
        value = call_row_by_row(run, transform, group.size, pairs, list(keywords), site)
        if value is not None:
            return value

    given = [_rows(run, group, value, axis, site) for value, axis in pairs]
    named = dict(zip(keywords, given[len(arguments) :], strict=True))
    call = partial(run.call, transform.function, given[: len(arguments)], named, site)
    value = _call_rows(run, group, lambda part: call_group(run, part, call, site))
    if type(value) is Separate:
        return as_lists(run, group, value.pieces, site)
    return map_structure(lambda v: _stacked(run, transform, group, v, site), value)


# ---- arguments -----------------------------------------------------------------------------------


def _with_axes(
    run: Run, transform: Transform, arguments: list[Any], keywords: dict[str, Any], site: Site
) -> Pairs:
    """Each argument with the axis of its rows: those of `in_axes`, and 0 for keywords. Raises
    GradcliError (E311) where the number of axes is not that of the arguments."""
    axes = (
        transform.in_axes
        if isinstance(transform.in_axes, list)
        else [transform.in_axes] * len(arguments)
    )
    if len(axes) != len(arguments):
        message = (
            f"`in_axes` has {len(axes)} entries, and `{transform.name}` is called with "
            f"{len(arguments)} arguments"
        )
        run.fail(
            "E311",
            message,
            site.span,
            help="give an entry for each argument, none for one that the rows share",
        )
    return [
        *(
            (a if axis is None else with_arrays(run, site, a), axis)
            for a, axis in zip(arguments, axes, strict=True)
        ),
        *((with_arrays(run, site, value), 0) for value in keywords.values()),
    ]


def _row_count(run: Run, transform: Transform, pairs: Pairs, site: Site) -> int:
    """The number of rows that all arguments have."""
    sizes: dict[int, str] = {}
    for value, axis in pairs:
        for part in leaves(value) if axis is not None else ():
            assert axis is not None
            inner = primal(read(part))
            shape = shape_of(inner)
            if not is_number(inner) or not -len(shape) <= axis < len(shape):
                what = f"axis {axis} of {describe(inner)}"
                help = "give arrays, or none in `in_axes` for an argument that all rows share"
                run.fail(
                    "E314",
                    f"`{transform.name}` takes its rows along {what}, which there isn't",
                    site.span,
                    help=help,
                )
            sizes.setdefault(shape[axis], describe(inner))
    if len(sizes) != 1:
        found = " and ".join(f"{n} in {what}" for n, what in sizes.items())
        message = f"the arguments of `{transform.name}` differ in their numbers of rows: {found}"
        run.fail(
            "E314", message if sizes else f"`{transform.name}` has no argument with rows", site.span
        )
    (n,) = sizes
    return n


def open_rows(run: Run, n: int) -> Group:
    """A group of `n` rows; inside lanes, of `n` rows for each row that runs."""
    parent = run.group
    if parent is None:
        return Group(n)
    return Group(
        n * parent.size, parent, run.backend.xp.repeat(run.backend.xp.arange(parent.size), n), n
    )


def _rows(run: Run, group: Group, value: Any, axis: int | None, site: Site) -> Any:
    """An argument as lanes of a group; one that all rows share (axis None) as it is."""
    if axis is None:
        return value
    return map_structure(
        lambda v: apply(run, Site(UNFOLD, site.span), (read(v),), {"axis": axis, "group": group}),
        value,
    )


# ---- the call and its results --------------------------------------------------------------------


def _call_rows(run: Run, group: Group, call: Callable[[Group], Any]) -> Any:
    """What `call` gives for all rows of a group. An error is that of the first row that fails."""
    outside, divisions = run.group, len(run.changes)
    try:
        return call(group)
    except GradcliError as error:
        if (
            group.size == 1
            or (outside is not None and outside.size > 1)
            or error.diagnostics[0].code.startswith("E4")
        ):
            raise  # limits (E4) hold for the whole run
        run.group = outside
        take_back(run, divisions)
        raise first_failure(run, group, call, error) from None
    finally:
        run.group = outside
        take_back(run, divisions)


def _stacked(run: Run, transform: Transform, group: Group, value: Any, site: Site) -> Any:
    """A result of the rows with the rows as its first axis; a list of none where it is none."""
    value = read(value)
    if value is None:
        return List([None] * (group.each or group.size))
    if not is_number(primal(value)):
        message = f"`{transform.function.name or 'fn'}` gives {describe(value)}, which has no rows"
        run.fail(
            "E314", message, site.span, help="return numbers or arrays, or lists or dicts of them"
        )
    try:
        return apply(run, Site(FOLD, site.span), (value,), {"axis": 0, "group": group})
    except UnrelatedError:
        help = "assign what is returned on every path that leads there"
        run.fail(
            "E307",
            f"`{transform.function.name or 'fn'}` gives a value that only some rows have",
            site.span,
            help=help,
        )


GETITEM, STACK = OPS["getitem"], OPS["stack"]

# Arguments, each with the axis of its rows; None for one that all rows share.
Pairs: TypeAlias = "list[tuple[Any, int | None]]"


# ---- row by row ----------------------------------------------------------------------------------


def call_row_by_row(
    run: Run,
    transform: Transform,
    n: int,
    pairs: Pairs,
    keywords: list[str],
    site: Site,
) -> Any:
    """The result of `vmap` by a call for each row. None where the rows should run together instead:
    where a row draws or updates something, which then would happen once a row, where results nest
    differently, and where a row fails, as the message should name it."""
    divisions = len(run.changes)
    run.changes.append({})
    values = []
    try:
        for k in range(n):
            given = [
                value if axis is None else _row(run, value, axis, k, site) for value, axis in pairs
            ]
            first = len(given) - len(keywords)
            named = dict(zip(keywords, given[first:], strict=True))
            values.append(run.call(transform.function, given[:first], named, site))
        first_one, *others = values
        if run.changes[-1] or any(_nesting(value) != _nesting(first_one) for value in others):
            return None
        rest = [iter(list(leaves(value))) for value in others]

        def stacked(value: Any) -> Any:
            return apply(
                run,
                Site(STACK, site.span),
                (read(value), *(read(next(parts)) for parts in rest)),
                {"axis": 0},
            )

        return map_structure(stacked, first_one)
    except GradcliError as error:
        if error.diagnostics[0].code.startswith("E4"):
            raise  # limits (E4) hold for the whole run
        return None
    finally:
        take_back(run, divisions)


def _nesting(value: Any) -> Any:
    """The lists and dicts of a value, without their numbers."""
    if type(value) is List:
        return [_nesting(item) for item in value]
    return {key: _nesting(item) for key, item in value.items()} if type(value) is dict else None


def _row(run: Run, value: Any, axis: int, k: int, site: Site) -> Any:
    """Row `k` of an argument."""

    def part(value: Any) -> Any:
        value = read(value)
        index = (slice(None),) * (axis % len(shape_of(primal(value)))) + (k,)
        return apply(run, Site(GETITEM, site.span), (value,), {"index": index})

    return map_structure(part, value)
