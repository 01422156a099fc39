"""How does a statement or an expression execute?"""
