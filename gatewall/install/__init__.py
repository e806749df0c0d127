"""Installation and start: launcher, deployment checks, demo, key rotation, geo database."""
