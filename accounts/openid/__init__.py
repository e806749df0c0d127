"""Client of OpenID Connect providers: discovery, keys, code flow and tokens. Uses no models and no views."""
