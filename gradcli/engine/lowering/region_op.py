"""The operation that a region is for the trace: it stands in the record of a region's call."""

from __future__ import annotations

from ...ops.op import Op

REGION = Op("region", "*operands", "A region as one operation.", internal=True, engine=True)
