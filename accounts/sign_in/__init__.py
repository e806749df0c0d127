"""Sign in: methods (password, passkey, identity provider, second factors), challenges, throttling, and the API."""
