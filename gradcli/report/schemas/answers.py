"""The schema of one answer of each command. None allows a key that it doesn't name."""

from __future__ import annotations

from .parts import (
    BOOL,
    DIAGNOSTIC,
    DIAGNOSTICS,
    EXPECTATIONS,
    INT,
    INT_OR_NULL,
    NOTES,
    PLACE,
    REAL,
    SUMMARY,
    TEXT,
    TEXT_OR_NULL,
    VALUE,
    Schema,
    array_of,
    map_of,
    object_of,
    one_of,
    or_null,
)

_TABLES = map_of(map_of(VALUE), "[output][variable]")
FORM: Schema = {
    "description": "a formula, and nested lists or mappings of them",
    "anyOf": [TEXT_OR_NULL, array_of({"$ref": "#/$defs/form"}), map_of({"$ref": "#/$defs/form"})],
}
_FORMS = map_of(
    object_of({}, {"value": {"$ref": "#/$defs/form"}, "gradients": map_of({"$ref": "#/$defs/form"}),
                 "derivatives": map_of({"$ref": "#/$defs/form"})})
)  # fmt: skip

EVAL = object_of(
    {
        "file": TEXT,
        "outputs": map_of(object_of({"value": VALUE}, {"shape": array_of(INT), "dtype": TEXT})),
        "gradients": {**_TABLES, "description": "[output][variable]; null where unconnected"},
        "jacobians": _TABLES,
        "hessians": {**_TABLES, "description": "[output][variable], mixed blocks under `x,z`"},
        "closed_forms": _FORMS,
        "printed": array_of(TEXT, "the text of each print statement"),
        "printed_values": array_of(array_of(VALUE), "what each print statement was given, as data"),
        "expectations": EXPECTATIONS,
        "diagnostics": DIAGNOSTICS,
    },
    {"notes": NOTES, "timings": array_of({"type": "number"}, "seconds of each run (--repeat)")},
)
_FINDING = object_of(
    {
        "method": TEXT,
        "point": INT,
        "verdict": one_of("agree", "disagree", "inconclusive", "skipped"),
        "reason": TEXT,
        "where": TEXT,
        "reverse": or_null(VALUE),
        "value": or_null(VALUE),
        "error": REAL,
        "tolerance": REAL,
        "ulps": REAL,
    },
    {"digits": INT_OR_NULL},
)
CHECK = object_of(
    {
        "file": TEXT,
        "passed": INT,
        "failed": INT,
        "skipped": INT,
        "gradients": array_of(
            object_of(
                {
                    "output": TEXT,
                    "variable": TEXT,
                    "order": INT,
                    "verdict": TEXT,
                    "digits": INT_OR_NULL,
                    "reasons": array_of(TEXT),
                    "methods": array_of(_FINDING),
                }
            )
        ),
        "blamed": array_of(
            object_of(
                {
                    "output": TEXT,
                    "operation": TEXT,
                    **PLACE,
                    "rule": VALUE,
                    "operation_itself": VALUE,
                    "factor": VALUE,
                    "operands": TEXT,
                }
            ),
            "operations whose rule isn't their derivative",
        ),
        "kinks": array_of(
            object_of(
                {
                    "output": TEXT,
                    "variable": TEXT,
                    "operation": TEXT,
                    **PLACE,
                    "operand": TEXT,
                    "left": REAL,
                    "right": REAL,
                }
            )
        ),
        "path": object_of(
            {
                "branches": array_of(
                    object_of(
                        {
                            "condition": TEXT,
                            **PLACE,
                            "held": INT,
                            "failed": INT,
                            "distance": map_of(REAL),
                        }
                    )
                ),
                "valid": map_of(
                    object_of(
                        {"low": REAL, "low_included": BOOL, "high": REAL, "high_included": BOOL}
                    )
                ),
            }
        ),
        "points": array_of(VALUE, "the random points, by variable"),
        "notes": NOTES,
        "expectations": EXPECTATIONS,
        "diagnostics": DIAGNOSTICS,
    }
)
_ONLY = object_of({"outputs": array_of(TEXT), "variables": array_of(TEXT)})
_WORST = object_of(
    {
        "place": TEXT,
        "old": VALUE,
        "new": VALUE,
        "ulps": or_null(REAL),
        "point": INT,
        "inputs": map_of(VALUE),
        "message": TEXT,
    }
)
DIFF = object_of(
    {
        "old": TEXT,
        "new": TEXT,
        "equal": BOOL,
        "points": INT,
        "compared": array_of(
            object_of(
                {
                    "of": TEXT,
                    "wrt": TEXT_OR_NULL,
                    "equal": BOOL,
                    "elements": INT,
                    "differing": INT,
                    "worst": or_null(_WORST),
                }
            )
        ),
        "only_old": _ONLY,
        "only_new": _ONLY,
        "notes": NOTES,
        "diagnostics": DIAGNOSTICS,
    }
)
BATCH = object_of(
    {
        "output": TEXT,
        **dict.fromkeys(
            ("rows", "succeeded", "failed", "nonfinite", "blocks", "resumed", "resumed_blocks"), INT
        ),
        **dict.fromkeys(("reruns", "unreadable", "block_rows", "tile"), INT),
        **dict.fromkeys(("compiled", "stepped_back", "interpreted"), INT),
        "not_compiled": TEXT,
        "was_done": BOOL,
        "complete": BOOL,
        "seconds": {"type": "number"},
        "rows_per_second": {"type": "number"},
        "device": TEXT,
        "threads": INT_OR_NULL,
        "kind": one_of("thread", "process", "worker"),
    },
    about="what --report writes",
)
SYMBOLIC = object_of(
    {"file": TEXT, "to": TEXT, "closed_forms": _FORMS, "diagnostics": DIAGNOSTICS},
    {"code": TEXT},
)
_CALLS = array_of(object_of({"function": TEXT, **PLACE}), "the calls that led there")
WHY = object_of(
    {
        "file": TEXT,
        "explanations": array_of(
            object_of(
                {
                    "of": TEXT,
                    "wrt": TEXT,
                    "status": one_of("connected", "none", "zero", "nan", "inf"),
                    "gradient": VALUE,
                    "reason": TEXT_OR_NULL,
                    "message": TEXT,
                    **PLACE,
                    "help": TEXT,
                    "calls": _CALLS,
                    "origin": or_null(object_of(PLACE)),
                    "asked": or_null(object_of(PLACE)),
                    "ways": INT,
                    "length": INT,
                    "steps": array_of(
                        object_of(
                            {
                                "text": TEXT,
                                "op": TEXT,
                                **PLACE,
                                "value": SUMMARY,
                                "partial": SUMMARY,
                                "gradient": SUMMARY,
                                "breaks": BOOL,
                                "skipped": INT,
                            }
                        )
                    ),
                }
            )
        ),
        "diagnostics": DIAGNOSTICS,
    }
)
OPERATION = object_of(
    {
        "number": INT,
        "op": TEXT,
        "of": TEXT_OR_NULL,
        "call": TEXT,
        "inputs": array_of(INT_OR_NULL),
        **PLACE,
        "calls": _CALLS,
        "text": TEXT,
        "value": SUMMARY,
        "shape": or_null(array_of(INT)),
        "bytes": INT,
        "partials": array_of(SUMMARY),
        "cotangent": SUMMARY,
        "active": BOOL,
    }
)
LOOP = object_of(
    {
        "loop": TEXT,
        **PLACE,
        "iterations": INT,
        "count": INT,
        "bytes": INT,
        "last": array_of({"$ref": "#/$defs/entry"}, "the operations of the last iteration"),
    }
)
_SOURCE = object_of({"number": INT, "name": TEXT, **PLACE, "value": SUMMARY, "cotangent": SUMMARY})
TRACE = object_of(
    {
        "file": TEXT,
        "sources": array_of(_SOURCE),
        "operations": array_of({"$ref": "#/$defs/entry"}),
        "targets": {"type": ["object", "array"]},
        "earlier": map_of(INT),
        "count": INT,
        "bytes": INT,
        "diagnostics": DIAGNOSTICS,
    }
)
_FIX = object_of({"line": INT, "column": INT, "end_line": INT, "end_column": INT, "text": TEXT})
LINT = object_of(
    {
        "file": TEXT,
        "fixed": INT,
        "diagnostics": array_of(
            object_of(
                {
                    **{key: DIAGNOSTIC["properties"][key] for key in DIAGNOSTIC["required"]},
                    "fix": or_null(_FIX),
                },
                {"reason": TEXT},
            )
        ),
    }
)
OPS = object_of(
    {
        **dict.fromkeys(("name", "signature", "of_function", "summary", "category", "rule"), TEXT),
        "infix": TEXT_OR_NULL,
        "convention": TEXT,
        "derivatives": map_of(TEXT),
        "domain": array_of(TEXT),
        "ulps": array_of({"type": "number"}),
    }
)
