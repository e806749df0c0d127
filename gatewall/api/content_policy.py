"""Content security policy of our pages."""

from collections.abc import Iterable


def content_security_policy(form_targets: Iterable[str] = (), *, scripts_call_us: bool = False) -> str:
    """Return the policy of our pages; their forms may also lead to these origins.

    ``scripts_call_us``: a page whose scripts talk to the API.
    """
    return "; ".join(
        (
            "default-src 'none'",
            "style-src 'self'",
            "img-src 'self' data:",
            "font-src 'self'",
            "script-src 'self'",
            *(["connect-src 'self'"] if scripts_call_us else []),
            "form-action " + " ".join(("'self'", *form_targets)),
            "base-uri 'none'",
            "frame-ancestors 'none'",
        )
    )
