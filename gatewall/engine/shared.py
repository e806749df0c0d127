"""Cached results for the header lines that several requests share. No I/O (docs/adr/0116-what-is-kept-of-a-head.md).

They are kept with a head and dropped with it. Each part names what it is valid for, such as a policy, a decision or a
scanner; for anything else it is computed again.
"""

from typing import Any


class Shared:
    """Cached results for the requests of one head."""

    __slots__ = ("answers", "quiet_for", "quiet_room", "record", "varying")

    def __init__(self, varying: tuple[int, ...] = ()) -> None:
        """``varying``: positions of the headers that requests do not share; all except the referer are plain."""
        self.varying = varying
        self.quiet_for: object = None
        """The scanner of the built-in WAF rules that found nothing in the shared headers and cookies."""
        self.quiet_room = 0
        """The part of ``MAX_INSPECTED`` of the WAF that these headers and cookies need, so that none of them is cut."""
        self.answers: tuple[Any, ...] = ()
        """Answers to reuse while their decisions are settled (gatewall/gate/settled_answer.py)."""
        self.record: Any = None
        """The bytes of the last record, for the next one of the same decision (gatewall/gate/record.py)."""
