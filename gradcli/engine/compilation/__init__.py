"""What does every closure need to be compiled?"""
