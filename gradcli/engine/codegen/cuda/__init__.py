"""How does a region become kernels of a GPU?"""
