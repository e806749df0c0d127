"""Time-based one-time passwords (RFC 6238): SHA-1, 6 digits, 30 seconds. Adapter of django-otp and qrcode."""

import base64
import io
import secrets
from urllib.parse import quote, urlencode

import qrcode
from django_otp.oath import TOTP
from qrcode.image.pure import PyPNGImage
from qrcode.image.svg import SvgPathImage

SECRET_BYTES = 20
"""RFC 4226 section 4, requirement 6: 160 bits."""
_STEP_SECONDS = 30
_DIGITS = 6
_TOLERANCE = 1  # step before and after: the clock of a phone, and the time to type
_ISSUER = "Gatewall"


def new_secret() -> bytes:
    """Return a random secret."""
    return secrets.token_bytes(SECRET_BYTES)


def plain(code: str) -> str:
    """Normalize a typed code: without whitespace and hyphens, in lower case."""
    return "".join(code.split()).replace("-", "").lower()


def is_code(text: str) -> bool:
    """Return whether this is six ASCII digits."""
    return len(text) == _DIGITS and text.isascii() and text.isdigit()


def matching_step(secret: bytes, code: str, *, at: float, after: int) -> int | None:
    """Return the time step of a code within one step of ``at`` (seconds) and later than ``after``, or None.

    Takes equal time for every code.
    """
    if not is_code(code):
        return None
    totp = TOTP(secret, step=_STEP_SECONDS, digits=_DIGITS)
    totp.time = at
    found = None
    for drift in range(-_TOLERANCE, _TOLERANCE + 1):
        totp.drift = drift
        if totp.t() < 0:
            continue  # a clock that was never set is near the epoch
        if secrets.compare_digest(f"{totp.token():0{_DIGITS}d}", code) and totp.t() > after:
            found = totp.t()
    return found


def base32(secret: bytes) -> str:
    """Return a secret in Base32 for manual entry (RFC 4648 section 6, no padding)."""
    return base64.b32encode(secret).decode().rstrip("=")


def otpauth_uri(secret: bytes, username: str) -> str:
    """Return the ``otpauth:`` URI for the QR code (Key Uri Format)."""
    label = quote(f"{_ISSUER}:{username}", safe=":")
    query = urlencode(
        {
            "secret": base32(secret),
            "issuer": _ISSUER,
            "algorithm": "SHA1",
            "digits": _DIGITS,
            "period": _STEP_SECONDS,
        }
    )
    return f"otpauth://totp/{label}?{query}"


def qr_png(uri: str) -> str:
    """Return the QR code of a URI as a PNG ``data:`` URI."""
    return f"data:image/png;base64,{base64.b64encode(_image(uri, PyPNGImage)).decode()}"


def qr_svg(uri: str) -> str:
    """Return the QR code of a URI as an SVG document."""
    return _image(uri, SvgPathImage).decode()


def _image(uri: str, factory: type) -> bytes:
    code = qrcode.QRCode(error_correction=qrcode.constants.ERROR_CORRECT_M, image_factory=factory)
    code.add_data(uri)
    buffer = io.BytesIO()
    code.make_image().save(buffer)
    return buffer.getvalue()
