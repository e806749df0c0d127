"""Value class of a built-in rule, and common targets."""

from dataclasses import dataclass

from gatewall.engine.model import Action
from gatewall.engine.waf.rules import Category, Severity, Target, Transform

ARGUMENTS = (Target.ARGS, Target.ARG_NAMES, Target.BODY)
PATH_AND_ARGUMENTS = (Target.PATH, *ARGUMENTS)
VALUES = (*ARGUMENTS, Target.COOKIES)
ALL_BUT_REFERER = (Target.PATH, *VALUES, Target.HEADERS, Target.USER_AGENT)
"""Without the referer: a search for SQL terms is in the referer of every request of its result page."""
EVERYTHING_SENT = (*PATH_AND_ARGUMENTS, Target.COOKIES, Target.HEADERS, Target.USER_AGENT, Target.REFERER)


@dataclass(frozen=True, slots=True)
class BuiltinRule:
    """A built-in rule; ``reason`` tells operators what a match means.

    The RE2 pattern matches within one line (``lines.on_one_line``). A score below 5 alone does not reach the default
    threshold.
    """

    key: str
    pattern: str
    category: Category
    severity: Severity
    targets: tuple[Target, ...]
    reason: str
    score: int = 5
    transforms: tuple[Transform, ...] = ()
    action: Action = Action.BLOCK
