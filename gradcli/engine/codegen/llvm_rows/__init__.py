"""How does a region become machine code that computes many rows at once?"""
