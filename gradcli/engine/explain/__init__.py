"""Why is a gradient none, zero or nan?"""
