"""Policy history: undo, restore, the lockout guard, and the revert of changes that are not confirmed in time."""
