"""How does a region run in Python, on numbers and on arrays?"""
