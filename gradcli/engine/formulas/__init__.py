"""How is a formula of the table computed, on numbers and on arrays?

A formula comes from an entry of the op table, or is composed of such by `compound`.
`formula_source` lowers it to the source of a Python function; `functions` compiles and caches
these, for floats and for arrays, with the partials. `rewriting` simplifies formulas for arrays.
`scalars` and `special` hold the primitives that formulas call.
"""
