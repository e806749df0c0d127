"""What was found out about the lines that requests of one head share. No I/O (docs/adr/0116-what-is-kept-of-a-head.md).

It is kept with a head and dropped with it. Each part says what it holds for; under anything else it is found out anew.
"""

from typing import Any


class Shared:
    """Kept for the requests of one head."""

    __slots__ = ("answers", "quiet_for", "quiet_room", "record", "varying")

    def __init__(self, varying: tuple[int, ...] = ()) -> None:
        """``varying``: places among the headers of those that requests do not share; all but the referer are plain."""
        self.varying = varying
        self.quiet_for: object = None
        """The scanner of the built-in WAF rules that found nothing in the headers and cookies that are shared."""
        self.quiet_room = 0
        """How much of what all rules inspect these headers and cookies need, so that nothing of them is cut."""
        self.answers: tuple[Any, ...] = ()
        """Answers that are given again while their decisions are settled (gatewall/gate/settled_answer.py)."""
        self.record: Any = None
        """The bytes of the last record, for the next one of the same decision (gatewall/gate/record.py)."""
