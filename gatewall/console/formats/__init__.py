"""Date and time formats of the console, by language."""
