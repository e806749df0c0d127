"""Name, logo and color of the installation on visitor pages.

The logo is a file in ``GATEWALL_HOME``. Pages show it as an image, and its own content security policy forbids
scripts, so an SVG cannot run any.
"""

import re
from dataclasses import dataclass
from hashlib import sha256

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.views import View

from gatewall.models import SystemSettings
from gatewall.models.settings import THEME_COLOR
from gatewall.policy import system_settings

MAX_LOGO = 64 * 1024
_FILES = {"logo.svg": "image/svg+xml", "logo.png": "image/png"}
_PNG = b"\x89PNG\r\n\x1a\n"
_CACHE_CONTROL = "public, max-age=86400"
"""Caching of style sheet and logo: their URLs change with their content."""


@dataclass(frozen=True, slots=True)
class Brand:
    """Name, color and logo of the installation; each is empty if it is not set. ``logo`` is a digest of the file."""

    name: str
    color: str
    logo: str


@dataclass(frozen=True, slots=True)
class Logo:
    """The content of the logo, and its media type."""

    content: bytes
    media_type: str


def brand_of(row: SystemSettings) -> Brand:
    """Return the brand from these settings and the logo file."""
    logo = find_logo()
    color = row.theme_color if re.fullmatch(THEME_COLOR, row.theme_color) else ""
    return Brand(row.site_name, color, sha256(logo.content).hexdigest()[:12] if logo else "")


def find_logo() -> Logo | None:
    """Return the logo in ``GATEWALL_HOME``, or None without a usable one."""
    for name, media_type in _FILES.items():
        try:
            with (settings.GATEWALL_HOME / name).open("rb") as file:
                content = file.read(MAX_LOGO + 1)
        except OSError:
            continue
        if len(content) <= MAX_LOGO and _is_image(content, media_type):
            return Logo(content, media_type)
    return None


def _is_image(content: bytes, media_type: str) -> bool:
    return content.startswith(_PNG) if media_type == "image/png" else b"<svg" in content[:1024]


def text_color(color: str) -> str:
    """Return black or white, whichever is readable on this color: the contrast is at least 4.5."""
    red, green, blue = (_linear(int(color[start : start + 2], 16) / 255) for start in (1, 3, 5))
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return "#fff" if 1.05 / (luminance + 0.05) >= (luminance + 0.05) / 0.05 else "#000"


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4


class Theme(View):
    """The style sheet with the color of buttons."""

    http_method_names = ["get", "head"]

    def get(self, request: HttpRequest) -> HttpResponse:
        color = brand_of(system_settings.current()).color
        rule = f":root {{ --button: {color}; --on-button: {text_color(color)}; }}\n" if color else ""
        return HttpResponse(rule, content_type="text/css", headers={"Cache-Control": _CACHE_CONTROL})


class LogoFile(View):
    """The logo, as an image in which no script can run."""

    http_method_names = ["get", "head"]

    def get(self, request: HttpRequest) -> HttpResponse:
        logo = find_logo()
        if logo is None:
            raise Http404
        policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
        headers = {"Cache-Control": _CACHE_CONTROL, "Content-Security-Policy": policy}
        return HttpResponse(logo.content, content_type=logo.media_type, headers=headers)
