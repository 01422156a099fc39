"""Who computes arrays, and where?"""
