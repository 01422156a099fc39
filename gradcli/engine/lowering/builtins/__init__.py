"""What are calls of builtins in IR?"""
