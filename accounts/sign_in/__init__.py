"""Sign in: methods (password, authenticator app, recovery code), challenges, limits for guesses, and the API."""
