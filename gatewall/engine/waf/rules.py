"""Value classes of WAF rules: operators, targets, transforms, categories. No I/O."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from gatewall.engine.model import Action
from gatewall.engine.waf.exclusions import Exclusion

THRESHOLD = 5
"""The default of ``waf_threshold``."""


class Operator(StrEnum):
    """How a pattern is compared with a value."""

    REGEX = "regex"
    CONTAINS = "contains"
    EQUALS = "equals"
    STARTS_WITH = "starts-with"
    ENDS_WITH = "ends-with"


class Target(StrEnum):
    """Part of a request that a rule inspects. ``uri`` and ``query`` are raw, the others decoded."""

    URI = "uri"
    PATH = "path"
    QUERY = "query"
    ARGS = "args"
    ARG_NAMES = "arg-names"
    HEADERS = "headers"
    USER_AGENT = "user-agent"
    COOKIES = "cookies"
    REFERER = "referer"
    METHOD = "method"
    HOST = "host"
    BODY = "body"

    __hash__ = str.__hash__  # Enum's is slow Python code, and targets are looked up for each match


class BodyRegion(StrEnum):
    """Text, mostly in a body, that is not a single value; fewer built-in rules inspect it (``builtin/regions.py``)."""

    TEXT = "text"
    """Several lines in a field: prose, markup of an editor, source code."""
    FILE = "file"
    """The content of a file."""
    RAW = "raw"
    """A form as sent, for rules on encoding tricks."""
    HEAD = "head"
    """The excess beyond the bounds of a URI, its arguments, cookies or headers; inspected as ``TEXT``."""

    __hash__ = str.__hash__


Region = Target | BodyRegion
"""Where a value comes from. Rules that target the body may target its regions, too."""


def is_of_body(target: Region) -> bool:
    """True for the body and its regions."""
    return target is _BODY or isinstance(target, BodyRegion)


_BODY = Target.BODY  # an enum look-up is slow


class Transform(StrEnum):
    """Change made to each value before matching, in the rule's order."""

    LOWERCASE = "lowercase"
    URL_DECODE = "url-decode"
    HTML_DECODE = "html-decode"
    BASE64_DECODE = "base64-decode"
    COMPRESS_WHITESPACE = "compress-whitespace"
    REMOVE_WHITESPACE = "remove-whitespace"
    REMOVE_NULS = "remove-nuls"
    NORMALIZE_PATH = "normalize-path"


class Category(StrEnum):
    """Class of attack; scores add up within one."""

    SQLI = "sqli"
    XSS = "xss"
    TRAVERSAL = "traversal"
    RCE = "rce"
    INJECTION = "injection"
    SSRF = "ssrf"
    SCANNER = "scanner"
    PROTOCOL = "protocol"
    CUSTOM = "custom"

    __hash__ = str.__hash__  # Enum's is slow Python code, and scores are keyed by it


class Severity(StrEnum):
    """Severity of a match, for operators; it does not affect the decision."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True)
class WafRule:
    """A WAF rule: pattern, targets, and score.

    A built-in rule inspects its targets in all decoded forms (``reading.py``).
    """

    id: int
    name: str
    pattern: str
    operator: Operator = Operator.REGEX
    targets: tuple[Target, ...] = (Target.URI,)
    transforms: tuple[Transform, ...] = ()
    category: Category = Category.CUSTOM
    score: int = 5
    action: Action = Action.BLOCK
    domain: str | None = None
    path_prefix: str | None = None
    exclusions: tuple[Exclusion, ...] = ()
    builtin: bool = False


def with_shared_exclusions(rules: Iterable[tuple[int, WafRule]]) -> Iterator[tuple[int, WafRule]]:
    """Yield the rules; those with equal exclusions have the same object, so they are compared once per request."""
    known: dict[tuple[Exclusion, ...], tuple[Exclusion, ...]] = {}
    for position, rule in rules:
        exclusions = known.setdefault(rule.exclusions, rule.exclusions)
        yield position, rule if exclusions is rule.exclusions else replace(rule, exclusions=exclusions)
