"""How is a formula of the table computed, on numbers and on arrays?

A formula comes from an entry of the op table, or is a derivative of one (`differentiation`).
`formula_source` lowers it to the source of a Python function; `functions` compiles and caches
these, for floats and for arrays, with the partials.
`scalars` holds the primitives that formulas call.
"""
