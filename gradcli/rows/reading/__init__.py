"""Readers of rows: one file a format, one line in `sources.OPENERS`."""
