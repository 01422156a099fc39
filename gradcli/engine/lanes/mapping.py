"""`vmap(f)`: a function on many rows at once. Its arguments become lanes, one call computes all
rows, and what it gives has the rows as its first axis.

Rows that take different paths divide and join inside the call (`divergence.py`). Where they can't
go on together, because a shape or the next function depends on a row's own value, the call begins
again for each sort of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn, TypeAlias

from ...diagnostics import GradcliError
from ...ops import OPS
from ..backends.backend import shape_of
from ..operations.apply import apply
from ..operations.by_rows import ApartError, part_by_lack, parts_of
from ..operations.iteration import with_arrays
from ..trace.changes import keep_changes, reported, take_back, take_back_reports
from ..trace.run import Run
from ..trace.tape import Site, primal
from ..values.kinds import (
    List,
    Transform,
    Variable,
    describe,
    is_number,
    leaves,
    map_structure,
    read,
)
from ..values.lanes import Group, Lanes, UnrelatedError
from .blocks import in_blocks
from .divergence import merge

UNFOLD, FOLD, MERGE, PLACE = (
    OPS["unfold_rows"],
    OPS["fold_rows"],
    OPS["merge_rows"],
    OPS["place_rows"],
)
GETITEM, STACK = OPS["getitem"], OPS["stack"]
Pieces: TypeAlias = "list[tuple[Group, Any]]"  # rows of a group by sorts, and what each sort gives


def call_mapped(
    run: Run, transform: Transform, arguments: list[Any], keywords: dict[str, Any], site: Site
) -> Any:
    """Calls `vmap(f)`; keywords have their rows along the first axis. Raises GradcliError (E314)
    for arguments that have no such axis, or different numbers of rows."""
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
    arguments = [
        a if axis is None else with_arrays(run, site, a)
        for a, axis in zip(arguments, axes, strict=True)
    ]
    keywords = {name: with_arrays(run, site, value) for name, value in keywords.items()}
    pairs = [*zip(arguments, axes, strict=True), *((value, 0) for value in keywords.values())]
    group = _group(run, transform, pairs, site)
    if 0 < group.size <= run.trace.rows_one_by_one:
        value = _row_by_row(run, transform, group.size, pairs, list(keywords), site)
        if value is not None:
            return value

    def unfolded(group: Group, values: list[Any]) -> list[Any]:
        return [
            _rows(run, group, value, axis, site)
            for value, (_, axis) in zip(values, pairs, strict=True)
        ]

    def call(group: Group, given: list[Any]) -> Any:
        named = dict(zip(keywords, given[len(arguments) :], strict=True))
        return _call(
            run,
            group,
            partial(run.call, transform.function, given[: len(arguments)], named, site),
            site,
        )

    outside, divisions = run.group, len(run.changes)
    value = in_blocks(
        run, group.size, pairs, lambda block, values: call(block, unfolded(block, values))
    )
    if value is not None:
        return value
    given = unfolded(group, [value for value, _ in pairs])
    try:
        value = call(group, given)
    except GradcliError as error:
        if (
            group.size == 1
            or (outside is not None and outside.size > 1)
            or error.diagnostics[0].code.startswith("E4")
        ):
            raise  # limits are those of the whole run
        run.group = outside
        take_back(run, divisions)
        raise _of_a_row(run, group, lambda part: call(part, given), error) from None
    finally:
        run.group = outside
        take_back(run, divisions)
    if type(value) is Apart:
        return _listed(run, group, value.pieces, site)
    return map_structure(lambda v: _stacked(run, transform, group, v, site), value)


def _row_by_row(
    run: Run,
    transform: Transform,
    n: int,
    pairs: list[tuple[Any, int | None]],
    keywords: list[str],
    site: Site,
) -> Any:
    """The same by a call for each row, on a trace that is read one operation on numbers after
    another. None where that isn't the same: what is drawn or updated would be for each row, and an
    error should say whose it is."""
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
            raise  # limits are those of the whole run
        return None
    finally:
        take_back(run, divisions)


def _nesting(value: Any) -> Any:
    """How lists and dicts nest in a value."""
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


def _of_a_row(
    run: Run, group: Group, call: Callable[[Group], Any], error: GradcliError
) -> GradcliError:
    """The error that the first row which fails gives by itself, found by halving."""

    def failure(low: int, high: int) -> GradcliError | None:
        so_far = reported(run)
        run.changes.append({})
        try:
            call(Group(high - low, group, run.backend.xp.arange(low, high)))
        except GradcliError as failed:
            return failed
        finally:
            take_back(run, divisions)
            run.group = outside
            take_back_reports(run, so_far)
        return None

    outside, divisions = run.group, len(run.changes)
    low, high = 0, group.size
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if failure(low, middle) is not None else (middle, high)
    found = failure(low, high)
    if found is None:  # what fails for all rows together only
        return error
    if low:  # what fails in the first row mostly fails in all of them
        found.diagnostics[:] = [
            replace(d, message=f"{d.message}, in row {low} of `vmap`") for d in found.diagnostics
        ]
    return found


def _rows(run: Run, group: Group, value: Any, axis: int | None, site: Site) -> Any:
    if axis is None:
        return value
    return map_structure(
        lambda v: apply(run, Site(UNFOLD, site.span), (read(v),), {"axis": axis, "group": group}),
        value,
    )


def _group(
    run: Run, transform: Transform, pairs: list[tuple[Any, int | None]], site: Site
) -> Group:
    """The rows of the arguments."""
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
    return opened(run, n)


def opened(run: Run, n: int) -> Group:
    """`n` rows, where rows run already in each of these."""
    parent = run.group
    if parent is None:
        return Group(n)
    return Group(
        n * parent.size, parent, run.backend.xp.repeat(run.backend.xp.arange(parent.size), n), n
    )


def on_rows(run: Run, group: Group, call: Callable[[], Any], site: Site) -> Any:
    """What `call` gives for all rows of a group at once."""
    outside, divisions = run.group, len(run.changes)
    try:
        value = _call(run, group, call, site)
    finally:
        run.group = outside
        take_back(run, divisions)
    if type(value) is Apart:
        _refuse(run, value.pieces, site)
    return value


class Apart:
    """What sorts of rows give that is no value of all of them: the rows of each, and their
    value."""

    __slots__ = ("pieces",)

    def __init__(self, pieces: Pieces) -> None:
        self.pieces = pieces


def _call(run: Run, group: Group, call: Callable[[], Any], site: Site) -> Any:
    """One call for all rows of a group; begun again for each sort of rows where they can't go on
    together."""
    run.group = group
    divisions, so_far = len(run.changes), reported(run)
    run.changes.append({})
    try:
        value = call()
        part_by_lack(run, [primal(read(part)) for part in leaves(value)])
    except ApartError as error:
        take_back(run, divisions)
        take_back_reports(run, so_far)
        return _calls_apart(run, group, call, error, site)
    for variable in [
        key for key in run.changes[-1] if type(key) is Variable and type(key.state) is Lanes
    ]:
        run.fail(
            "E312",
            f"`{variable.name}` would have a state for each row outside of `vmap`",
            site.span,
            help=(
                "return what belongs to a row, and update the variable with what all rows give "
                "together"
            ),
        )
    keep_changes(run, divisions)
    return value


def _calls_apart(
    run: Run, group: Group, call: Callable[[], Any], error: ApartError, site: Site
) -> Any:
    parts = parts_of(run, group, error)
    pieces: Pieces = []
    for part in parts:
        value = _call(run, part, call, site)
        pieces += value.pieces if type(value) is Apart else [(part, value)]
    run.group = group
    try:
        return _merged(run, group, pieces, site)
    except ApartError:
        return Apart(pieces)


def _merged(run: Run, group: Group, pieces: Pieces, site: Site) -> Any:
    """The values of these parts of a group as one. Raises ApartError where they can't be one."""
    parts = [part for part, _ in pieces]
    return merge(
        run,
        Site(MERGE, site.span),
        group,
        parts,
        [p.way_to(group) for p in parts],
        [v for _, v in pieces],
    )


def _listed(run: Run, group: Group, pieces: Pieces, site: Site) -> Any:
    """What rows give that is none in some of them: by row, a list. Of lists and dicts that are
    alike in all rows, their parts. Raises GradcliError (E314) where the rows differ in anything
    else."""
    values = [read(value) for _, value in pieces]
    first, groups = values[0], [part for part, _ in pieces]
    if all(type(v) is List and len(v) == len(first) for v in values):
        columns = zip(*values, strict=True)
        return List(
            [
                _listed(run, group, list(zip(groups, column, strict=True)), site)
                for column in columns
            ]
        )
    if all(type(v) is dict and v.keys() == first.keys() for v in values):
        return {
            key: _listed(
                run, group, [(g, v[key]) for g, v in zip(groups, values, strict=True)], site
            )
            for key in first
        }
    return _by_row(run, group, pieces, site)


def _by_row(run: Run, group: Group, pieces: Pieces, site: Site) -> List:
    """The same as a list that has for each row what it gives alone, and none for rows that are in
    no piece."""
    there = [(part, value) for part, v in pieces if (value := read(v)) is not None]
    if not there:
        return List([None] * (group.each or group.size))
    values = [v for _, v in there]
    first, numbers = values[0], [primal(v) for v in values]
    if all(map(is_number, numbers)) and len({shape_of(v) for v in numbers}) == 1:
        return _row_values(run, group, there, site)
    if all(type(v) is List and len(v) == len(first) for v in values):
        keys: Any = range(len(first))
    elif all(type(v) is dict and v.keys() == first.keys() for v in values):
        keys = first
    else:
        _refuse(run, pieces, site)
    parts = {key: _by_row(run, group, [(part, v[key]) for part, v in there], site) for key in keys}

    def row(k: int) -> Any:
        return (
            {key: part[k] for key, part in parts.items()}
            if type(first) is dict
            else List([p[k] for p in parts.values()])
        )

    has, _ = _rows_in(run, group, there)
    return List([row(k) if own else None for k, own in enumerate(has)])


def _rows_in(run: Run, group: Group, there: Pieces) -> tuple[list[bool], Any]:
    """Which rows of a group are in these pieces, as the rows that run have opened them, and by
    number. Parts those that run where it differs."""
    xp, outside = run.backend.xp, run.group
    rows = xp.sort(xp.concatenate([part.way_to(group) for part, _ in there]))
    has = xp.isin(xp.arange(group.size), rows).reshape(1 if outside is None else outside.size, -1)
    if outside is not None and not bool((has == has[:1]).all()):
        raise ApartError(outside, xp.unique(has, axis=0, return_inverse=True)[1].reshape(-1))
    return has[0].tolist(), rows


def _row_values(run: Run, group: Group, there: Pieces, site: Site) -> List:
    """The numbers or arrays of some rows of a group, and none for the others, as a list."""
    xp, (has, rows) = run.backend.xp, _rows_in(run, group, there)
    some, parts = Group(len(rows), group, rows), [part for part, _ in there]
    options = {
        "indices": [xp.searchsorted(rows, part.way_to(group)) for part in parts],
        "groups": parts,
        "group": some,
    }
    merged = apply(run, Site(MERGE, site.span), tuple([v for _, v in there]), options)
    placed = apply(
        run, Site(PLACE, site.span), (merged,), {"index": rows, "group": group, "of": some}
    )
    stacked = apply(run, Site(FOLD, site.span), (placed,), {"axis": 0, "group": group})
    getitem = Site(GETITEM, site.span)
    return List(
        [
            apply(run, getitem, (stacked,), {"index": (k,)}) if own else None
            for k, own in enumerate(has)
        ]
    )


def _refuse(run: Run, pieces: Pieces, site: Site) -> NoReturn:
    shown = " and ".join(dict.fromkeys(describe(v) for _, v in pieces))
    help = "the value must have one shape; pad it, or reduce it"
    run.fail(
        "E314", f"the rows give values that are no array together: {shown}", site.span, help=help
    )


def _stacked(run: Run, transform: Transform, group: Group, value: Any, site: Site) -> Any:
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
