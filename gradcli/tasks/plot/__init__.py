"""`plot`: curves of outputs and their derivatives over a range, and contours over two.

A `Function` evaluates the program at many points in one run. `sampling` chooses the points of
curves, `breaks` finds kinks, jumps and poles between them, `curves` divides what was sampled there,
and `contours` does a grid. `columns` takes points from a file of data. `results` has what reports
draw.
"""
