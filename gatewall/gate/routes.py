"""Paths of the gate below ``ROOT_PATH``, the same on both planes. Pure."""

from dataclasses import dataclass

from gatewall.gate import subrequest
from gatewall.gate.gate import Dialect

_READ_ONLY = frozenset({"GET", "HEAD"})
_ENVOY = "/auth/envoy"
_KEY_SET = "/.well-known/jwks.json"


@dataclass(frozen=True, slots=True)
class Route:
    """A dialect, and the target after its prefix in the request line (Envoy puts it there)."""

    dialect: Dialect
    target: str = ""
    methods: frozenset[str] | None = _READ_ONLY

    def allows(self, method: str) -> bool:
        return self.methods is None or method in self.methods


_EXACT = {
    "/auth": Route(Dialect(subrequest.auth, varies_in_headers=True)),
    "/auth/forward": Route(
        Dialect(
            subrequest.forward, answers_browsers=True, shows_body=True, cuts_credentials=True, varies_in_headers=True
        )
    ),
    "/auth/original-url": Route(Dialect(subrequest.original_url, cuts_credentials=True)),
}
_ENVOY_DIALECT = Dialect(subrequest.envoy, answers_browsers=True, shows_body=True, cuts_credentials=True)


def find(root_path: str, raw_target: str) -> Route | None:
    """Return the route of a raw request target, or None for other paths.

    Envoy appends the visitor's target to the prefix, so nothing is decoded here.
    """
    if not raw_target.startswith(root_path):
        return None
    below = raw_target[len(root_path) :]
    if below.startswith(_ENVOY) and below[len(_ENVOY) : len(_ENVOY) + 1] in {"", "/", "?"}:
        path, _, query = below[len(_ENVOY) :].partition("?")
        # Drop an empty query: sites treat it as none.
        return Route(_ENVOY_DIALECT, (path or "/") + (f"?{query}" if query else ""), methods=None)
    return _EXACT.get(below.partition("?")[0])


def is_key_set(root_path: str, raw_target: str) -> bool:
    """True for the path of the public keys of signed identities."""
    return raw_target.partition("?")[0] == root_path + _KEY_SET
