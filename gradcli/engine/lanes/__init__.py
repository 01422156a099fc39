"""How do many rows run together, divide and join again?"""
