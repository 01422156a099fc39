"""The operation of a region's record on the trace."""

from __future__ import annotations

from ...ops.op import Op

REGION = Op("region", "*operands", "A region as one operation.", internal=True, engine=True)
