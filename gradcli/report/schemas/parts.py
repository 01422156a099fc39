"""What the schemas of answers are made of."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
INT: Schema = {"type": "integer"}
BOOL: Schema = {"type": "boolean"}
TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
INT_OR_NULL: Schema = {"type": ["integer", "null"]}
REAL: Schema = {"$ref": "#/$defs/real"}
VALUE: Schema = {"$ref": "#/$defs/value"}
SUMMARY: Schema = {"anyOf": [VALUE, {"$ref": "#/$defs/summary"}]}


def object_of(required: Schema, optional: Schema | None = None, about: str = "") -> Schema:
    """An object with these keys and no others."""
    found = {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }
    return {**found, "description": about} if about else found


def array_of(items: Schema, about: str = "") -> Schema:
    found = {"type": "array", "items": items}
    return {**found, "description": about} if about else found


def map_of(values: Schema, about: str = "") -> Schema:
    """An object whose keys are names of the program."""
    found = {"type": "object", "additionalProperties": values}
    return {**found, "description": about} if about else found


def one_of(*words: str) -> Schema:
    return {"enum": list(words)}


def or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


PLACE = {"file": TEXT_OR_NULL, "line": INT_OR_NULL, "column": INT_OR_NULL}
DIAGNOSTIC = object_of(
    {
        "code": TEXT,
        "severity": one_of("error", "warning", "note"),
        **PLACE,
        "message": TEXT,
        "help": TEXT,
    },
    {"reason": TEXT},
    "an error or a warning; `gradcli explain CODE` tells about it",
)
DIAGNOSTICS = array_of({"$ref": "#/$defs/diagnostic"})
EXPECTATIONS = array_of(
    object_of({"line": INT, "passed": BOOL, "message": TEXT}), "each `expect` that was run"
)
NOTES = array_of(TEXT, "what else there is to say, in words")
DEFINITIONS: Schema = {
    "real": {
        "description": "a number with all its digits; those that JSON has no notation for by name",
        "anyOf": [{"type": "number"}, one_of("nan", "inf", "-inf")],
    },
    "value": {
        "description": (
            "a number, a bool, a string, null for none, a complex number {re, im}, and nested "
            "lists and mappings of these"
        ),
        "anyOf": [
            {"type": ["number", "boolean", "string", "null"]},
            object_of({"re": REAL, "im": REAL}),
            array_of(VALUE),
            map_of(VALUE),
        ],
    },
    "summary": object_of(
        {"shape": array_of(INT), "min": REAL, "max": REAL, "zeros": INT, "nonfinite": INT},
        about="a large array in a few numbers",
    ),
    "diagnostic": DIAGNOSTIC,
}
