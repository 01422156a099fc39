"""Who computes arrays, and where?

A `Backend` wraps an array module: NumPy (`backend`) or CuPy (`cuda`); `selection` finds the one of
a device's name. `tiers` decides how far a program is compiled, by the work that it has done.
"""
