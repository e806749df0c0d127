"""The history of policy changes: undo, restore and confirmation."""
