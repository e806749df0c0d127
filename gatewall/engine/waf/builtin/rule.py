"""What a built-in rule is, and where most of them look."""

from dataclasses import dataclass

from gatewall.engine.waf.rules import Category, Severity, Target, Transform

ARGUMENTS = (Target.ARGS, Target.ARG_NAMES, Target.BODY)
PATH_AND_ARGUMENTS = (Target.PATH, *ARGUMENTS)
VALUES = (*ARGUMENTS, Target.COOKIES)
ALL_BUT_REFERER = (Target.PATH, *VALUES, Target.HEADERS, Target.USER_AGENT)
"""A search for the words of a query language is in the referer of every part of the page that shows what was found."""
EVERYTHING_SENT = (*PATH_AND_ARGUMENTS, Target.COOKIES, Target.HEADERS, Target.USER_AGENT, Target.REFERER)


@dataclass(frozen=True, slots=True)
class BuiltinRule:
    """One rule of the set; ``reason`` tells the operator what a match means.

    The pattern is of RE2 and stays on one line (``lines.on_one_line``). A score below 5 means: not
    alone enough at the default threshold.
    """

    key: str
    pattern: str
    category: Category
    severity: Severity
    targets: tuple[Target, ...]
    reason: str
    score: int = 5
    transforms: tuple[Transform, ...] = ()
