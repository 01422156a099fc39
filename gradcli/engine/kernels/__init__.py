"""Which kernels run in place of the interpreter where code is hot?"""
