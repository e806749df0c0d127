"""Content security policy of our pages."""

from collections.abc import Iterable


def content_security_policy(form_targets: Iterable[str] = (), *, scripts_call_us: bool = False) -> str:
    """Return the Content-Security-Policy of our pages; forms may also lead to ``form_targets``.

    ``scripts_call_us`` allows scripts to call the API.
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
