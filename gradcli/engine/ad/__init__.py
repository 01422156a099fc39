"""How do derivatives cross records, backwards and forwards?"""
