"""Cached results for the header lines that several requests share. No I/O (docs/adr/0116-what-is-kept-of-a-head.md).

They are kept with a head and dropped with it. Each part names the policy or scanner that it is valid for; under another
it is computed again.
"""

from typing import Any


class Shared:
    """Cached results for the requests of one head."""

    __slots__ = ("answers", "quiet_for", "quiet_room", "record", "varying")

    def __init__(self, varying: tuple[int, ...] = ()) -> None:
        """``varying``: places among the headers of those that requests do not share; all but the referer are plain."""
        self.varying = varying
        self.quiet_for: object = None
        """The scanner of the built-in WAF rules that found nothing in the headers and cookies that are shared."""
        self.quiet_room = 0
        """The share of the WAF's inspection limit that these headers and cookies use."""
        self.answers: tuple[Any, ...] = ()
        """Answers that are given again while their decisions are settled (gatewall/gate/settled_answer.py)."""
        self.record: Any = None
        """The bytes of the last record, for the next one of the same decision (gatewall/gate/record.py)."""
