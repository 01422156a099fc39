"""Which sweeps suffice for a Jacobian or a Hessian?

`sparsity` propagates index sets (`patterns`) through the records of the trace, `colouring` groups
rows or columns that one sweep can carry, and `structures` caches the result. `compressed` makes a
`plan` of it, and runs its sweeps (`seeds`), out of whose results the entries are read. `jacobians`
and `batches` are what programs and tasks call.
"""
