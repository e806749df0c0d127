"""WAF rules as values. What is accepted here is what the matcher understands. No I/O."""

from dataclasses import dataclass
from enum import StrEnum

from gatewall.engine.model import Action


class Operator(StrEnum):
    """How a pattern is held against a value."""

    REGEX = "regex"
    CONTAINS = "contains"
    EQUALS = "equals"
    STARTS_WITH = "starts-with"
    ENDS_WITH = "ends-with"


class Target(StrEnum):
    """The part of a request that a rule looks at. ``uri`` and ``query`` are raw, the others decoded."""

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

    __hash__ = str.__hash__  # that of Enum is Python, and a rule's targets are looked up at each of its matches


class Transform(StrEnum):
    """A change made to each value before it is matched, in the order of the rule."""

    LOWERCASE = "lowercase"
    URL_DECODE = "url-decode"
    HTML_DECODE = "html-decode"
    BASE64_DECODE = "base64-decode"
    COMPRESS_WHITESPACE = "compress-whitespace"
    REMOVE_WHITESPACE = "remove-whitespace"
    REMOVE_NULS = "remove-nuls"
    NORMALIZE_PATH = "normalize-path"


class Category(StrEnum):
    """The class of attack that a rule is about; scores add up within one."""

    SQLI = "sqli"
    XSS = "xss"
    TRAVERSAL = "traversal"
    RCE = "rce"
    INJECTION = "injection"
    SSRF = "ssrf"
    SCANNER = "scanner"
    PROTOCOL = "protocol"
    CUSTOM = "custom"

    __hash__ = str.__hash__  # that of Enum is Python, and scores are added up by it


class Severity(StrEnum):
    """How bad a match is, for the operator; it does not change the decision."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Where a rule does not look; every part that is set must hold, up to the moment of expiry."""

    domain: str | None = None
    path_prefix: str | None = None
    argument: str | None = None
    expires_at: float | None = None


@dataclass(frozen=True, slots=True)
class WafRule:
    """One rule: the pattern, where it looks, and what a match counts.

    A built-in rule looks at its targets in every form they can be decoded to (``reading.py``).
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
