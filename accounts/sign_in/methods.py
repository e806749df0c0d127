"""Registry of sign-in methods, for guard page, JSON API and Django admin. A method is a module and an entry here.

A first method begins a sign-in; a second factor answers the challenge after it. ``amr`` is the union of the methods
that were proved.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from accounts.identity_providers import selectors as identity_providers
from accounts.models import User
from accounts.sign_in import passkey, password, recovery_codes, totp
from gatewall.engine import auth_methods


@dataclass(frozen=True, slots=True)
class CodeEntry:
    """How typed codes are verified."""

    is_code: Callable[[str], bool]
    """Whether a text may be a code of this method."""
    use: Callable[[User, str, datetime], bool]
    """Use up a code; return whether it is correct."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A way to sign in that the guard page shows, and the part of the page that shows it (a template of the portal)."""

    page: str
    key: str = ""
    """Distinguishes several offers of one method, like the slug of an identity provider."""
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A sign-in method."""

    name: str
    """Its name in the API."""
    is_set_up: Callable[[User], bool]
    """Whether the user can prove it."""
    offers: Callable[[str], Sequence[Offer]] | None = None
    """For a first method: what the guard page on this host shows."""
    is_second_factor: bool = False
    amr: tuple[str, ...] = ()
    """What a code of the method proves (RFC 8176); methods without codes compute it for each proof."""
    codes: CodeEntry | None = None


METHODS = (
    Method(
        name="password",
        is_set_up=password.is_set_up,
        offers=lambda _host: [Offer(password.PAGE)],
        amr=(auth_methods.PASSWORD,),
    ),
    Method(
        name=passkey.NAME,
        is_set_up=passkey.is_set_up,
        offers=lambda _host: [Offer(passkey.PAGE)],
        is_second_factor=True,
    ),
    Method(
        name="identity-provider",
        is_set_up=identity_providers.has_identity,
        offers=lambda host: [
            Offer("portal/sign_in/provider.html", provider.slug, provider.name)
            for provider in identity_providers.offered(host)
        ],
    ),
    Method(
        name="totp",
        is_set_up=totp.is_set_up,
        is_second_factor=True,
        amr=(auth_methods.APP_CODE,),
        codes=CodeEntry(totp.is_code, totp.use_code),
    ),
    Method(
        name="recovery-code",
        is_set_up=recovery_codes.are_set_up,
        is_second_factor=True,
        amr=(auth_methods.MULTI_FACTOR,),
        codes=CodeEntry(recovery_codes.is_code, recovery_codes.use_code),
    ),
)


def offers(host: str) -> Iterator[Offer]:
    """Yield the ways to sign in to a site that the guard page shows; passkeys even if the page cannot use them."""
    for method in METHODS:
        yield from method.offers(host) if method.offers else ()


def second_factors_of(user: User) -> list[Method]:
    """Return the second factors that the user can answer a challenge with."""
    return [method for method in METHODS if method.is_second_factor and method.is_set_up(user)]


def first_methods_of(user: User) -> list[Method]:
    """Return the methods with which the user can begin a sign-in: the last one cannot be removed."""
    return [method for method in METHODS if method.offers and method.is_set_up(user)]


def use_code(user: User, code: str, *, at: datetime) -> tuple[str, ...]:
    """Use up a second-factor code and return what it proves (``amr``), empty if it is wrong."""
    for method in METHODS:
        if method.codes and method.codes.is_code(code):
            return method.amr if method.codes.use(user, code, at) else ()
    return ()


def union(*proofs: Sequence[str]) -> tuple[str, ...]:
    """Return all methods that were proved, without duplicates, in the order of ``AUTH_METHODS``."""
    proved = {method for proof in proofs for method in proof}
    return tuple(method for method in auth_methods.AUTH_METHODS if method in proved)
