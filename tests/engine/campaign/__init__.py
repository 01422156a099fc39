"""Random programs of the whole language, each run in every way that there is; all ways must give
the same.

`python -m tests.engine.campaign --seed S --programs N` runs a long campaign; `test_campaign.py`
runs a short one.

- Small programs, many and cheap, in all tiers and modes: `small` writes one, `small_ways` compares
  what it gives and tells, and `reducing` makes a program that fails as small as it can be
  (`--reduce SEED`).
- Programs of rows of data (`--kind rows`, and `wide` of values of all kinds): `expressions`,
  `values` and `bodies` write a function of a row, and `programs` what asks for it and for its
  derivatives; `running` runs a program in the `ways` that there are.
- `comparing` says where two answers differ, and `rounding` how far apart rounding puts them.
"""
