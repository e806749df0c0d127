"""Block lists as text: parsing and comparing them. No Django."""
