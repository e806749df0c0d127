"""Errors of an OpenID Connect provider. ``why`` is kebab-case, for events; ``detail`` contains no secret."""

_LONGEST = 200


class _ProviderError(Exception):
    def __init__(self, why: str, detail: str = "") -> None:
        self.why, self.detail = why, detail[:_LONGEST]
        super().__init__(f"{why}: {self.detail}" if detail else why)


class ProviderFailed(_ProviderError):
    """The provider is down or slow, or its response is not OpenID Connect."""


class TokenRefused(_ProviderError):
    """A token of the provider is forged, replayed, expired, or for somebody else."""
