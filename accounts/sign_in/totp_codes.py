"""Time-based one-time passwords (RFC 6238): SHA-1, 6 digits, 30 seconds. Adapter of django-otp and qrcode."""

import base64
import io
import secrets
from urllib.parse import quote, urlencode

import png
import qrcode
from django_otp.oath import TOTP
from qrcode.image.svg import SvgPathImage

SECRET_BYTES = 20
"""RFC 4226 section 4, requirement 6: 160 bits."""
_STEP_SECONDS = 30
_DIGITS = 6
_TOLERANCE = 1  # step before and after: the clock of a phone, and the time to type
_ISSUER = "Gatewall"
_BOX = 10
"""Width and height of a module in the image, in pixels."""


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
            continue  # a clock that was never set is near the Unix epoch
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


def qr_code(uri: str) -> qrcode.QRCode:
    """Return the QR code of a URI, for both images: most of the time goes into choosing its mask."""
    code = qrcode.QRCode(error_correction=qrcode.constants.ERROR_CORRECT_M)
    code.add_data(uri)
    code.make()
    return code


def qr_png(code: qrcode.QRCode) -> str:
    """Return a QR code as a PNG ``data:`` URI."""
    lines = [_packed(row) for row in code.get_matrix()]
    side, buffer = len(lines) * _BOX, io.BytesIO()
    writer = png.Writer(side, side, greyscale=True, bitdepth=1)
    writer.write_packed(buffer, [line for line in lines for _ in range(_BOX)])
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"


def qr_svg(code: qrcode.QRCode) -> str:
    """Return a QR code as an SVG document."""
    buffer = io.BytesIO()
    code.make_image(image_factory=SvgPathImage).save(buffer)
    return buffer.getvalue().decode()


def _packed(row: list[bool]) -> bytes:
    """Return a line of an image, eight pixels per byte, dark ones 0: pixel by pixel an image would take 20 ms."""
    bits = "".join([("0" if is_dark else "1") * _BOX for is_dark in row])
    bits += "0" * (-len(bits) % 8)
    return int(bits, 2).to_bytes(len(bits) // 8, "big")
