"""Users, their sessions, and how they sign in."""
