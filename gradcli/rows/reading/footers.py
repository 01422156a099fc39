"""Whether the footer of a Parquet file is sound: Parquet has checksums of pages and none of the
footer, but it says much twice.

(pyarrow's own view of it isn't asked: it ends the process where the levels of a damaged column
chunk don't fit.)
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from ..blocks import PartError
from ..thrift import TRUE, Struct, read_struct

_MAGIC, _TAIL = 4, 8  # bytes before the data, and behind the footer
_REPEATED = 2
# Fields of parquet.thrift: FileMetaData, SchemaElement, RowGroup, ColumnChunk, ColumnMetaData
_SCHEMA, _ROWS, _GROUPS = 2, 3, 4
_TYPE, _REPETITION, _NAME, _CHILDREN, _CONVERTED, _SCALE, _PRECISION, _LOGICAL = (
    1,
    3,
    4,
    5,
    6,
    7,
    8,
    10,
)
_CHUNKS, _ROWS_OF_GROUP = 1, 3
_METADATA, _ENCRYPTION = 3, 8
_TYPE_OF_CHUNK, _PATH, _CODEC, _VALUES, _UNCOMPRESSED, _COMPRESSED, _DATA, _DICTIONARY = (
    1,
    3,
    4,
    5,
    6,
    7,
    9,
    11,
)

# Logical types, by the converted types that say the same: times with their units, integers with
# their bits and signs
_DECIMAL, _INTEGER = 5, 10
_SAME = {0: 1, 1: 2, 2: 2, 3: 3, 4: 4, 6: 6, 19: 12, 20: 13}
_UNITS = {7: (7, 1), 8: (7, 2), 9: (8, 1), 10: (8, 2)}
_INTEGERS = {
    11 + 4 * is_signed + k: (8 << k, bool(is_signed)) for is_signed in range(2) for k in range(4)
}

Leaf = tuple[
    tuple[bytes, ...], int, bool
]  # its path, its type, and whether a row may have several values


def verify(file: BinaryIO) -> None:
    """Raises PartError where the footer of a file contradicts itself, or the file's size."""
    end = file.seek(-_TAIL, 2)
    (length,) = struct.unpack("<I4x", file.read(_TAIL))
    begin = end - length
    file.seek(begin)
    try:
        footer, _ = read_struct(file.read(length))
        leaves = list(_leaves(iter(_structs(footer, _SCHEMA))))
        groups = _structs(footer, _GROUPS)
        if sum(_int(group, _ROWS_OF_GROUP) for group in groups) != _int(footer, _ROWS):
            raise _contradiction("the number of rows isn't the sum of those of its row groups")
        places = [
            place for number, group in enumerate(groups) for place in _places(number, group, leaves)
        ]
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError, StopIteration):
        raise _contradiction("it isn't a footer of Parquet") from None
    _verify_apart(places, begin)


def _places(number: int, group: Struct, leaves: Sequence[Leaf]) -> Iterator[tuple[int, int, str]]:
    """Where the column chunks of a row group begin and end, and what they are called."""
    chunks, rows = _structs(group, _CHUNKS), _int(group, _ROWS_OF_GROUP)
    if len(chunks) != len(leaves):
        raise _contradiction(f"row group {number} has {len(chunks)} columns of {len(leaves)}")
    for chunk, (path, kind, is_repeated) in zip(chunks, leaves, strict=True):
        if _ENCRYPTION in chunk:
            continue
        metadata = chunk[_METADATA][1]
        where = f"column `{_text(path)}` of row group {number}"
        if tuple(metadata[_PATH][1][1]) != path:
            raise _contradiction(f"{where} is called `{_text(metadata[_PATH][1][1])}` there")
        if _int(metadata, _TYPE_OF_CHUNK) != kind:
            raise _contradiction(f"{where} has another type there")
        if not is_repeated and _int(metadata, _VALUES) != rows:
            raise _contradiction(f"{where} has {_int(metadata, _VALUES)} values in {rows} rows")
        if not _int(metadata, _CODEC) and _int(metadata, _UNCOMPRESSED) != _int(
            metadata, _COMPRESSED
        ):
            raise _contradiction(f"{where} has two sizes, and isn't compressed")
        begins = [_int(metadata, field) for field in (_DATA, _DICTIONARY) if field in metadata]
        begin = min(filter(None, begins), default=0)
        if begin:  # one without pages has no place
            yield begin, begin + _int(metadata, _COMPRESSED), where


def _leaves(elements: Iterator[Struct]) -> Iterator[Leaf]:
    """The columns of a schema, which is written as a tree with each element before its children."""
    root = next(elements)

    def below(parent: Struct, path: tuple[bytes, ...], is_repeated: bool) -> Iterator[Leaf]:
        for _ in range(_int(parent, _CHILDREN)):
            element = next(elements, {})
            inner = (*path, element[_NAME][1])
            _verify_meaning(_text(inner), element)
            repeated = is_repeated or element.get(_REPETITION, (0, 0))[1] == _REPEATED
            if _CHILDREN in element and _int(element, _CHILDREN):
                yield from below(element, inner, repeated)
            else:
                yield inner, _int(element, _TYPE), repeated

    yield from below(root, (), False)
    if next(elements, None) is not None:
        raise _contradiction("its columns are more than it has room for")


def _verify_meaning(name: str, element: Struct) -> None:
    """Raises PartError where a column's converted type, which older readers go by, isn't its
    logical type."""
    if _LOGICAL not in element:
        return
    ((logical, (_, about)),) = element[_LOGICAL][1].items()
    converted = _int(element, _CONVERTED) if _CONVERTED in element else None
    if converted in _UNITS:
        agrees = (logical, *about[2][1]) == _UNITS[converted]
    elif converted in _INTEGERS:
        agrees = logical == _INTEGER and (about[1][1], about[2][0] == TRUE) == _INTEGERS[converted]
    elif converted == _DECIMAL:
        agrees = logical == _DECIMAL and all(
            _int(about, k + 1) == _int(element, f) for k, f in enumerate((_SCALE, _PRECISION))
        )
    else:
        agrees = converted not in _SAME or logical == _SAME[converted]
    if not agrees:
        raise _contradiction(f"column `{name}` is of two types")


def _verify_apart(places: list[tuple[int, int, str]], footer: int) -> None:
    """Raises PartError where column chunks overlap each other, or what is around them."""
    end, before = _MAGIC, "the beginning of the file"
    for begin, stop, where in sorted(places):
        if begin < end or stop < begin:
            raise _contradiction(f"{where} overlaps {before}")
        end, before = stop, where
    if end > footer:
        raise _contradiction(f"{before} overlaps the footer")


def _structs(fields: Struct, number: int) -> list[Struct]:
    """The elements of a list."""
    return list(fields[number][1][1])


def _int(fields: Struct, number: int) -> int:
    return int(fields[number][1])


def _text(path: Sequence[bytes]) -> str:
    return b".".join(path).decode(errors="replace")


def _contradiction(what: str) -> PartError:
    return PartError(f"it is damaged: its footer contradicts itself: {what}")
