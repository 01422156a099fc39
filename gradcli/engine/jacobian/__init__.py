"""Which sweeps suffice for a Jacobian or a Hessian?

`sparsity` propagates index sets (`patterns`) through the records of the trace, `colouring` groups
rows or columns that one sweep can carry, and `structures` caches the result. `compressed` runs
these sweeps (`seeds`) and reads the entries out of their results. `jacobians` and `batches` are
what programs and tasks call.
"""
