"""Random programs of the whole language, each run in every way that there is; all ways must give
the same.

`python -m tests.engine.campaign --seed S --programs N` runs a long campaign, with `--wide` of
values of all kinds; `test_campaign.py` runs a short one. `expressions`, `values` and `bodies` write
a function of a row, and `programs` what asks for it and for its derivatives; `ways` runs a program,
`comparing` says where two answers differ, and `rounding` how far apart rounding puts them.
"""
