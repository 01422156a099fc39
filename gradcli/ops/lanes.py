"""The primitives that the engine calls for lanes: where rows divide, join, begin and end. `group`
and `of` are its groups, whose methods do the work, for they know whose rows are whose; `of` is the
operand's own."""

from __future__ import annotations

from functools import partial

from .op import Op

_op = partial(Op, category="lanes", internal=True, linear=True)


OPS = [
    _op(
        "pick_rows",
        "x; index, group, of",
        "Some rows, as those of another group.",
        compute=lambda xp, x, index, group, of: of.pick(xp, x, index, group),
        vjp=(
            lambda m, g, y, x, index, group, of: m.place_rows(g, index=index, group=of, of=group),
        ),
    ),
    _op(
        "place_rows",
        "x; index, group, of",
        "Rows added up where they belong in another group.",
        compute=lambda xp, x, index, group, of: of.place(xp, x, index, group),
        vjp=(
            lambda m, g, y, x, index, group, of: (
                m.spread_rows(g, group=of)
                if group is None
                else m.pick_rows(g, index=index, group=of, of=group)
            ),
        ),
    ),
    _op(
        "spread_rows",
        "x; group",
        "What all rows share, a row each.",
        compute=lambda xp, x, group: group.pick(xp, x, slice(None), group),
        vjp=(lambda m, g, y, x, group: m.place_rows(g, index=None, group=None, of=group),),
    ),
    _op(
        "unfold_rows",
        "x; axis, group",
        "An axis as rows.",
        compute=lambda xp, x, axis, group: group.unfold(xp, x, axis),
        vjp=(lambda m, g, y, x, axis, group: m.fold_rows(g, axis=axis, group=group),),
    ),
    _op(
        "fold_rows",
        "x; axis, group",
        "Rows as an axis.",
        compute=lambda xp, x, axis, group: group.fold(xp, x, axis),
        vjp=(lambda m, g, y, x, axis, group: m.unfold_rows(g, axis=axis, group=group),),
    ),
    _op(
        "merge_rows",
        "*parts; indices, groups, group",
        "Values of several groups as one.",
        compute=lambda xp, *parts, indices, groups, group: group.merge(xp, parts, indices, groups),
        vjp=lambda m, g, y, k, *parts, indices, groups, group: m.pick_rows(
            g, index=indices[k], group=groups[k], of=group
        ),
    ),
]
