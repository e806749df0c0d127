"""The own scope of an app token: domains and path prefixes, within the scope of its user. No I/O."""

from gatewall.engine.values import value


@value
class TokenScope:
    """Domains and path prefixes of an app token.

    ``domains`` are those that it lists; with ``all_domains`` it lists none. Without ``paths`` every path is covered.
    """

    all_domains: bool
    domains: frozenset[str] = frozenset()
    paths: tuple[str, ...] = ()

    def covers(self, domain: str | None) -> bool:
        """True if the scope covers the registered domain; None is an unregistered host."""
        return self.all_domains or domain in self.domains
