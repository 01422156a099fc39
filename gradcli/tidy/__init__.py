"""How a program is written: `fmt` gives it the one style, `lint` finds what is better written
otherwise."""
