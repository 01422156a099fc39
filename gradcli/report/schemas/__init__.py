"""The JSON schemas of the answers: one for each command that prints JSON. `gradcli eval --schema`
prints one, and docs/schema/ has them all (`python tests/cli/test_schemas.py` writes them).

A schema refuses keys that it doesn't name, so that none comes without being described here.
"""

from __future__ import annotations

import json

from .answers import (
    BATCH,
    CHECK,
    DIFF,
    EVAL,
    FORM,
    LINT,
    LOOP,
    OPERATION,
    OPS,
    SYMBOLIC,
    TRACE,
    WHY,
)
from .parts import DEFINITIONS, Schema, array_of

SCHEMAS: dict[str, Schema] = {
    "eval": EVAL,
    "check": CHECK,
    "diff": DIFF,
    "batch": BATCH,
    "symbolic": SYMBOLIC,
    "why": WHY,
    "trace": TRACE,
    "lint": LINT,
    "ops": OPS,
}
_MORE: dict[str, Schema] = {
    "form": FORM,
    "entry": {"anyOf": [OPERATION, LOOP]},
}


def schema(command: str) -> Schema:
    """The schema of a command's JSON: one answer, or an array of them for several programs."""
    answer = SCHEMAS[command]
    definitions = DEFINITIONS | _MORE | {"answer": answer}
    one: Schema = {"$ref": "#/$defs/answer"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"gradcli {command}",
        **(one if command in ("batch", "diff") else {"anyOf": [one, array_of(one)]}),
        "$defs": {name: definitions[name] for name in sorted(_used(answer, definitions))},
    }


def _used(answer: Schema, definitions: dict[str, Schema]) -> set[str]:
    """The names of the definitions that an answer needs, one by another."""
    found, waiting = {"answer"}, [answer]
    while waiting:
        text = json.dumps(waiting.pop())
        new = {name for name in definitions if f'"#/$defs/{name}"' in text} - found
        found |= new
        waiting += [definitions[name] for name in new]
    return found


def text(command: str) -> str:
    """The schema as it is printed and published."""
    return json.dumps(schema(command), indent=1, ensure_ascii=False) + "\n"
