"""What can a name hold?"""
