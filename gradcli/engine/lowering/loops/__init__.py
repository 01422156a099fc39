"""What are loops in IR?"""
