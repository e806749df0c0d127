"""Password validators: minimum length, and a maximum that keeps hashing cheap."""

from django.core.exceptions import ValidationError

MIN_LENGTH = 8
MAX_LENGTH = 128


class LengthValidator:
    """Require a password of 8 to 128 characters (NIST SP 800-63B; no composition rules)."""

    def validate(self, password: str, user: object = None) -> None:
        if not MIN_LENGTH <= len(password) <= MAX_LENGTH:
            raise ValidationError(self.get_help_text(), code="password-length")

    def get_help_text(self) -> str:
        return f"A password has {MIN_LENGTH} to {MAX_LENGTH} characters."
