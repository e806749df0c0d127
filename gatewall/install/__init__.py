"""Installing and starting: launcher, checks, demo, key rotation, geo database."""
