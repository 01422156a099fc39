"""Rows that come through a pipe: divided into blocks, and compared with what an earlier run was
given."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from typing import cast

from ...rows.blocks import Arrived, BadPart, Range
from .output import Output


def divided(arriving: Iterable[Range | BadPart], rows: int) -> Iterator[Range | BadPart]:
    """The same in ranges of at most `rows` rows."""
    for where in arriving:
        if isinstance(where, BadPart) or where.size <= rows:
            yield where
        else:
            yield from cast(Arrived, where).divided(rows)


def unfinished(
    ranges: Iterable[Range | BadPart], output: Output, has_journal: bool
) -> Iterator[Range | BadPart]:
    """The same, but for what an earlier run has finished, if that is noted anywhere: it is compared
    with that. Raises GradcliError (E609)."""
    if not has_journal:
        yield from ranges
        return
    import hashlib  # here: what goes to standard output doesn't pay for it

    finished = output.finished
    count = 0
    for count, where in enumerate(ranges, 1):
        digest = hashlib.blake2b(pickle.dumps(where), digest_size=8).hexdigest()
        if count > len(finished):
            output.digests.append(digest)
            yield where
        elif digest != finished[count - 1].digest:
            raise output.refuse("are of another job: the data on standard input changed since")
    if count < len(finished):
        raise output.refuse("are of another job: standard input has fewer rows than it had")
