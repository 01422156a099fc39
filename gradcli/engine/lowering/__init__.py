"""Which faster closures take the place of the interpreter's where code is hot?"""
