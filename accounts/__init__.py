"""Who is asking: users, their sessions, and how they sign in."""
