"""Rows of data, in and out: a room for `gradcli batch`. pyarrow enters only here.

In: `open_source` finds the parts and gives ranges; `Range.read` gives a `Block`, anywhere. A format
is one file in reading/, and one line in `sources.OPENERS`. Out: `writing.WRITERS`, which can go on
after a killed run; one file a format as well. `flat` knows how vectors become columns and back.
"""
