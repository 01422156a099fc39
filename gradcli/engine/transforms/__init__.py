"""What may be asked of functions and of recorded values?

`transforms` calls `grad(f)` and the other transforms; it dispatches to `first_derivatives`,
`jacobian_transforms` and `second_derivatives`. These call the function either in `recording`, which
records it and sends cotangents back, or in `forward_level`, which carries tangents through it.
`tape_members`, `attached` and `backward` implement the imperative interfaces: tapes, attached
gradients and `backward`.
"""
