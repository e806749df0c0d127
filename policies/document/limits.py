"""Size limits of a policy document, and the section that exceeds them. Pure."""

import re

from gatewall.engine.messages import Message
from gatewall.engine.messages import gettext_noop as _

MAX_BYTES = 8 * 1024 * 1024
MAX_VALUES = 1_000_000
"""Maximum number of values and keys: each is kept in memory with its place."""
_SECTION = re.compile(rb"^([a-z_]{1,40}):", re.MULTILINE)


class Unreadable(Exception):
    """The bytes are not a document; line and column count from 1; ``section``: the one that is too large, if any."""

    def __init__(self, message: str, line: int = 1, column: int = 1, section: str = "") -> None:
        super().__init__(message)
        self.message, self.line, self.column, self.section = message, line, column, section

    @property
    def pointer(self) -> str:
        """Return the JSON Pointer to the section, empty without one."""
        return self.section and f"/{self.section.replace('~', '~0').replace('/', '~1')}"


def require_size(data: bytes) -> None:
    """Raise Unreadable if a document has too many bytes, with the YAML section in which it exceeds the limit."""
    if len(data) <= MAX_BYTES:
        return
    message = Message(
        _("the document has more than %(number)s MiB; long lists of networks belong to a list subscription"),
        number=MAX_BYTES // 1024 // 1024,
    )
    *_others, last = [None, *_SECTION.finditer(data, 0, MAX_BYTES)]
    if last is None:
        raise Unreadable(message)
    raise Unreadable(message, data.count(b"\n", 0, last.start()) + 1, section=last[1].decode())
