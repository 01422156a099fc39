"""The tape engine without the language.

    with gradcli.Tape() as t:
        y = x**2
    t.gradient(y, x)

The same table, the same `apply` and the same sweeps; what isn't here is text. Nothing is recorded
but what is done while a tape is open.
"""
