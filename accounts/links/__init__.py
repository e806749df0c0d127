"""One-time links to set a password or, with an invitation, a passkey: invitations and password resets."""
