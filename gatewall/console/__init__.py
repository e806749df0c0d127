"""The operator pages of the admin site: what happens, why, and what a change would do."""
