"""How is one operation done, on plain values, on traced ones and on rows?"""
