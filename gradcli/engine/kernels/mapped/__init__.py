"""Which kernels make the calls of `vmap(f)`?"""
