"""Installation and start: supervisor of `gatewall up`, deployment checks, demo, key rotation, geo database, backup."""
