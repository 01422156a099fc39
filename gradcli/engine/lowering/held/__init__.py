"""What may a name or an expression hold while a program is lowered?"""
