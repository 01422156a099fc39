"""How is a region differentiated?"""
