"""What does a call do, of functions, builtins and modules?"""
