"""What an editor asks about a program that is being written, as plain functions of its text and a
place in it; `server.py` answers an editor with them, and nothing else here knows its protocol."""
