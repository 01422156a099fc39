"""What are calls of functions in IR, and requests for their derivatives?"""
