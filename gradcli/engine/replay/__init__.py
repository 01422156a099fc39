"""How does a recorded value change when its sources move?"""
