"""`check`: the gradient of a program against every other way to get it.

`results` has what comes of it, `point` a program at one point, and each method a file: `forward`,
`complex_step`, `differences` (with the order of the Taylor remainder) and `symbolic`. `verdicts`
compares, `blame` finds the operation whose rule is wrong, `kinks` where there is no derivative to
compare, `path` how far the branches are from being others, `against` reads gradients from
elsewhere. `lane_runs` runs a program for many rows at once: all differences, and with `points` all
random points. `checking` puts them together.
"""
