"""How does a region become machine code?"""
