"""What may be asked of functions and of recorded values?"""
