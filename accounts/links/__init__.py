"""One-time links to set a password: invitations and password resets."""
