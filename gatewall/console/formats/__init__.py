"""How the console writes times, by language."""
