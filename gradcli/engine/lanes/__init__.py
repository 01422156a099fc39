"""How do many rows run together, divide and merge?"""
