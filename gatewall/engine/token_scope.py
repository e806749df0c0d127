"""The own scope of an app token, within that of its user, and the scope of a share link. No I/O."""

from gatewall.engine.values import value


@value
class TokenScope:
    """Domains, path prefixes and methods.

    ``domains`` are those that it lists; with ``all_domains`` it lists none. Without ``paths`` every path is covered,
    without ``methods`` every method.
    """

    all_domains: bool
    domains: frozenset[str] = frozenset()
    paths: tuple[str, ...] = ()
    methods: frozenset[str] = frozenset()

    def covers(self, domain: str | None) -> bool:
        """True if the scope covers the registered domain; None is an unregistered host."""
        return self.all_domains or domain in self.domains
