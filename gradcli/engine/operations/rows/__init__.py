"""How do many rows do one operation together, and when must they separate?"""
