"""What was computed from what?"""
