"""Password hashes: Argon2id at the cost that OWASP gives as the floor (cheat sheet, 2026-08)."""

from django.contrib.auth.hashers import Argon2PasswordHasher


class Argon2idHasher(Argon2PasswordHasher):
    """19 MiB, two passes, one lane; Django's own default takes 100 MiB a login."""

    memory_cost = 19 * 1024
    time_cost = 2
    parallelism = 1
