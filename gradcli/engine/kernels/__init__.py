"""Which generated functions and native code go over large arrays and rows?"""
