"""Verify the signature of a provider's token. Adapter of joserfc (RFC 7515, RFC 7517).

The algorithm comes from a list of four, and the type of the key must fit the algorithm: no token can choose
``none`` or turn a public key into an HMAC secret (RFC 8725 sections 3.1 and 3.2).
"""

from collections.abc import Mapping
from typing import Any

from joserfc import jwk, jws
from joserfc.errors import JoseError

from accounts.openid.errors import ProviderFailed, TokenRefused
from accounts.openid.fetching import object_of
from gatewall.credentials import base64url

LONGEST_TOKEN = 64 * 1024
_FEWEST_RSA_BITS, _MOST_RSA_BITS = 2048, 8192
_KEY_TYPES: dict[str, tuple[str, str | None]] = {
    "RS256": ("RSA", None),
    "PS256": ("RSA", None),
    "ES256": ("EC", "P-256"),
    "EdDSA": ("OKP", "Ed25519"),
}
"""Each accepted algorithm with the type and curve of its keys."""
_PUBLIC = {"RSA": ("kty", "n", "e"), "EC": ("kty", "crv", "x", "y"), "OKP": ("kty", "crv", "x")}


class _Registry(jws.JWSRegistry):
    """Registry of the algorithms in ``_KEY_TYPES``; accepts EdDSA without the warning of RFC 9864 about its name."""

    def get_alg(self, name: str) -> Any:
        return self.algorithms[name]


_REGISTRY = _Registry(algorithms=[*_KEY_TYPES], strict_check_header=False)


def header_of(token: str) -> dict[str, Any]:
    """Return the header of a token, not yet verified. Raises TokenRefused."""
    parts = token.split(".") if len(token) <= LONGEST_TOKEN and token.isascii() else []
    header = _object(parts[0]) if len(parts) == 3 else None
    if header is None:
        raise TokenRefused("malformed", "this is no signed token")
    algorithm = header.get("alg")
    if not isinstance(algorithm, str) or algorithm not in _KEY_TYPES:
        raise TokenRefused("algorithm", f"the algorithm is not one of {', '.join(_KEY_TYPES)}")
    if "crit" in header:
        raise TokenRefused("malformed", "the header has extensions that must be understood")
    return header


def verified(token: str, header: Mapping[str, Any], keys: tuple[Mapping[str, Any], ...]) -> dict[str, Any]:
    """Return the claims of a token that one of the keys signed. Raises TokenRefused."""
    algorithm, kid = header["alg"], header.get("kid")
    fitting = [key for key in keys if _fits(key, algorithm) and (kid is None or key.get("kid") == kid)]
    if len(fitting) != 1:
        raise TokenRefused("unknown-key", "the provider has no such key" if not fitting else "the key is not named")
    try:
        found = jws.deserialize_compact(token, _imported(fitting[0]), registry=_REGISTRY)
    except (JoseError, ValueError, TypeError) as error:
        raise TokenRefused("signature", type(error).__name__) from None
    try:
        return object_of(found.payload or b"")
    except ProviderFailed:
        raise TokenRefused("malformed", "the claims are no JSON object") from None


def _fits(key: Mapping[str, Any], algorithm: str) -> bool:
    kind, curve = _KEY_TYPES[algorithm]
    is_kind = key.get("kty") == kind and (curve is None or key.get("crv") == curve)
    operations = key.get("key_ops", ["verify"])
    may_verify = key.get("use", "sig") == "sig" and isinstance(operations, list) and "verify" in operations
    return is_kind and may_verify and key.get("alg", algorithm) == algorithm


def _imported(key: Mapping[str, Any]) -> jwk.Key:
    """Import the public members of a key. Raises TokenRefused, JoseError, ValueError."""
    public = {name: key.get(name) for name in _PUBLIC[key["kty"]]}
    if not all(isinstance(value, str) and len(value) <= _MOST_RSA_BITS // 4 for value in public.values()):
        raise TokenRefused("unknown-key", "the key is malformed")
    if key["kty"] == "RSA":
        bits = int.from_bytes(base64url.decode(key["n"]) or b"").bit_length()
        if not _FEWEST_RSA_BITS <= bits <= _MOST_RSA_BITS:
            raise TokenRefused("weak-key", f"an RSA key of {bits} bits")
    return jwk.import_key({name: str(value) for name, value in public.items()})


def _object(segment: str) -> dict[str, Any] | None:
    text = base64url.decode(segment)
    try:
        return object_of(text) if text else None
    except ProviderFailed:
        return None
