"""Remembered devices: browsers in which a user is not asked for the second factor."""
