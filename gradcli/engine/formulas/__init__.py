"""How is a formula of the table computed, on numbers and on arrays?"""
