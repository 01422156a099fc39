"""Which generated functions and native code go over large arrays and rows?

`row_functions` evaluates formulas in chunks that fit into the cache, by Python source from
`row_source`; `sum_functions` does so for sums over rows. Where that is hot, `native` replaces it by
machine code, whose LLVM text `native_source` writes. `small_arrays` and `transposing` are fast
paths for small arrays and for transposed copies.
"""
