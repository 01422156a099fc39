"""What does the text of a program tell before it runs?"""
