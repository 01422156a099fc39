"""What does a region compute?

A region is the part of a program that is compiled as a whole: pure, on values whose types are
known. Its intermediate representation (IR) has every value in single assignment; instructions are
entries of the table, constants, casts, branches, loops and calls of other regions. It prints as
text (`printer.py`), which parses again (`parser.py`), and a verifier checks it (`verifier.py`).

All rooms call the instruction at hand `made`.
"""
