"""Identity providers: the resource, linked identities, groups by claims, sessions opened through them."""
