"""Client of OpenID Connect providers: discovery, keys, code flow and tokens. Knows no rows and no pages."""
