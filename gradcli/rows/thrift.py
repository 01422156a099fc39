"""Thrift's compact protocol, as far as the footers of Parquet files need it: structs read as trees,
and written again.

A struct is a dict from field number to (type, value); a list is (type of its elements, elements).
"""

from __future__ import annotations

from typing import Any

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)

Struct = dict[int, tuple[int, Any]]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("an integer of more than 64 bits")


def read_struct(data: bytes, at: int = 0) -> tuple[Struct, int]:
    """The struct that begins at `at`, and where it ends."""
    fields: Struct = {}
    number = 0
    while data[at]:
        head = data[at]
        at += 1
        if head >> 4:
            number += head >> 4
        else:
            raw, at = _varint(data, at)
            number = (raw >> 1) ^ -(raw & 1)
        kind = head & 0x0F
        value, at = (None, at) if kind in (TRUE, FALSE) else _read(data, at, kind)
        fields[number] = (kind, value)
    return fields, at + 1


def _read(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind in (I16, I32, I64):
        raw, at = _varint(data, at)
        return (raw >> 1) ^ -(raw & 1), at
    if kind == BINARY:
        size, at = _varint(data, at)
        return data[at : at + size], at + size
    if kind == STRUCT:
        return read_struct(data, at)
    if kind in (LIST, SET):
        head = data[at]
        size, at = (head >> 4, at + 1) if head >> 4 < 15 else _varint(data, at + 1)
        items = []
        for _ in range(size):
            item, at = _read(data, at, head & 0x0F)
            items.append(item)
        return (head & 0x0F, items), at
    if kind == DOUBLE:
        return data[at : at + 8], at + 8
    if kind in (BYTE, TRUE, FALSE):  # a bool within a list is a byte
        return data[at], at + 1
    raise ValueError(f"a footer of Parquet has no type {kind}")


def put_varint(value: int, out: bytearray) -> None:
    """Appends a number that isn't negative, seven bits a byte."""
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def write_struct(fields: Struct, out: bytearray) -> None:
    """Appends a struct. One within it may also be given as it is written."""
    last = 0
    for number, (kind, value) in sorted(fields.items()):
        if 0 < number - last < 16:
            out.append(number - last << 4 | kind)
        else:
            out.append(kind)
            put_varint(number << 1, out)
        last = number
        if kind not in (TRUE, FALSE):
            _write(kind, value, out)
    out.append(0)


def packed(fields: Struct) -> bytes:
    """A struct as it is written."""
    out = bytearray()
    write_struct(fields, out)
    return bytes(out)


def _write(kind: int, value: Any, out: bytearray) -> None:
    if kind in (I16, I32, I64):
        put_varint(value << 1 if value >= 0 else (-value << 1) - 1, out)
    elif kind == BINARY:
        put_varint(len(value), out)
        out += value
    elif kind == STRUCT and isinstance(value, bytes):
        out += value
    elif kind == STRUCT:
        write_struct(value, out)
    elif kind in (LIST, SET):
        size = len(value[1])
        out.append(min(size, 15) << 4 | value[0])
        if size >= 15:
            put_varint(size, out)
        for item in value[1]:
            _write(value[0], item, out)
    elif kind == DOUBLE:
        out += value
    else:
        out.append(value)
