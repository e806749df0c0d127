"""Users, sessions and sign-in."""
