"""How are loops over arrays rewritten, and who owns the memory of arrays?"""
