"""Random programs of the whole language, each run in every way that there is; all ways must give
the same.

`python -m tests.engine.campaign --seed S --programs N` runs a long campaign; `test_campaign.py`
runs a short one. `expressions` and `bodies` write a function of a row, `programs` what asks for it
and for its derivatives; `ways` runs a program, and `comparing` says where two answers
differ, and `rounding` how far apart rounding puts them.
"""
