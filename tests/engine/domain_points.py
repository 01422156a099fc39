"""Points inside the domains of the table's entries."""

from __future__ import annotations

import math

from gradcli.ops.op import Op


def points(op: Op) -> list[tuple[float, ...]]:
    """Two points inside the domain of an op; orders are whole."""
    domain = op.domain or ((-math.inf, math.inf),) * len(op.signature.operands)
    found = []
    for share in (0.3, 0.6):
        operands: list[float] = []
        for k, (low, high) in enumerate(domain):
            if op.partials[k] is None:
                operands.append(1.0)
            elif math.isinf(low) and math.isfinite(high):
                operands.append(high - 3.0 * share)
            elif math.isinf(high):
                operands.append((low if math.isfinite(low) else -1.5) + 3.0 * share + 0.17 * k)
            else:
                operands.append(low + (high - low) * share)
        found.append(tuple(operands))
    return found
