"""A WAF rule that matched a request. No I/O."""

from gatewall.engine.values import value


@value
class RuleMatch:
    """A matching WAF rule; ``enforced`` if its score counted towards a refusal.

    ``blocks`` if its own action is block: in monitor mode, its score would have counted. ``place``: part of the request
    (a WAF target) and name of the value that matched first, None if it is not known.
    """

    rule_id: int
    name: str
    category: str
    score: int
    enforced: bool
    blocks: bool = True
    place: tuple[str, str | None] | None = None
