"""How is a region rewritten? Derivatives are passes, too: from a region to a region.

`docs/architecture.md` lists the passes in the order in which they run; `kernels/region_calls.py`
runs them.
"""
