"""Groups of users: changing them and their scopes, and their members."""
