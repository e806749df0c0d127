"""Values that the built-in rules inspect, within bounds; without line feeds. No I/O."""

from gatewall.engine.waf.body.texts import UNINSPECTED, BodyText, field_text, is_long, rest_text
from gatewall.engine.waf.decoding import loosened, split_at_signs
from gatewall.engine.waf.exclusions import Name
from gatewall.engine.waf.rules import BodyRegion, Region, Target
from gatewall.engine.waf.scope import part_of

Value = tuple[Region, Name | None, str]
"""Target or region of the body, name of the argument, header, cookie or part of the body, and text (latin-1)."""

MAX_SIGNS = 96
"""Entities, escapes and comments of a request that are decoded; after these, a value is inspected as sent."""
MAX_INSPECTED = 3_072
"""Characters of the URI and headers, and again of the body, that all rules inspect; the rest is inspected as text."""
MAX_TEXT = 131_072
"""Characters of texts and files, the rest of other values included, that are inspected: a body, as sent and decoded."""
MAX_FORMED = 16
"""Values whose further forms are inspected one by one; those of further values are inspected as one text."""
MAX_FORMED_OF_MANY = 8
"""The same of a request with more values than are inspected one by one."""
MAX_SIGNS_OF_MANY = 48
MAX_FORMED_LENGTH = 6_144
"""Characters of all values whose further forms are inspected."""
_MAX_TOGETHER = 4_096
_MAX_SIGNS_TOGETHER = 32
MAX_IN_MARKUP = 16
"""Texts in XML values that are inspected one by one; the rest of such a value is inspected as one text."""
MAX_INSIDE = 32
"""Strings in JSON or encoded XML values that are inspected one by one; further ones as one text per value."""
MAX_CODED = 32  # values that are decoded from base64 or JSON
_MAX_JUDGED = 4_096
"""Characters of long values that are classified as texts or single values; further ones are texts."""
_MAX_JUDGED_OF_ONE = 1_024
MAX_APART = 8_192
"""Characters of fields beyond ``MAX_INSPECTED`` that are decoded one by one; further fields are decoded as one text."""
VALUE_COST = 16  # what a value costs besides its characters
_OVERLAP = 256  # of what all rules inspect and the rest, for attacks at the border
_JOINT = "\f"
_BODY = Target.BODY
_NOTED_AS: dict[Region, Target] = {
    Target.PATH: Target.URI, Target.ARGS: Target.ARGS, Target.ARG_NAMES: Target.ARGS, Target.COOKIES: Target.HEADERS,
    Target.HEADERS: Target.HEADERS, Target.USER_AGENT: Target.HEADERS, Target.REFERER: Target.HEADERS,
}  # fmt: skip
"""The targets of the rule that notes what could not be inspected."""


class Values(list[Value]):
    """The values of a request within bounds, so that a hostile request costs little more than an ordinary one.

    ``left``: characters that all rules may still inspect; ``begin_body`` resets it. ``has_texts`` if some values are
    inspected by fewer rules.
    """

    __slots__ = (
        "_unformed", "apart_left", "coded_left", "formed_left", "formed_length_left", "has_texts", "inside_left",
        "is_noted", "judged_left", "left", "markup_left", "signs_left", "text_left",
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self.left = MAX_INSPECTED
        self.text_left = MAX_TEXT
        self.signs_left = MAX_SIGNS
        self.formed_left = MAX_FORMED
        self.formed_length_left = MAX_FORMED_LENGTH
        self.coded_left = MAX_CODED
        self.inside_left = MAX_INSIDE
        self.markup_left = MAX_IN_MARKUP
        self.judged_left = _MAX_JUDGED
        self.apart_left = MAX_APART
        self._unformed: list[str] = []
        self.is_noted = False
        self.has_texts = False

    def joined(self) -> bytes:
        """Return the values as lines of one text, to scan it."""
        return "\n".join([text for _, _, text in self]).encode("latin-1")

    def begin_body(self) -> None:
        self.left = MAX_INSPECTED
        self.is_noted = False

    def put(self, target: Region, name: Name | None, text: str) -> None:
        """Append a value without line feeds; the excess beyond the bounds as text, within ``MAX_TEXT``."""
        if target.__class__ is Target:
            self.left -= len(text) + VALUE_COST
            if self.left >= 0:
                self.append((target, name, text))
                return
            self.note(target, "rest")
            room = max(len(text) + self.left, 0)
            self.left = 0
            if room:
                self.append((target, name, text[:room]))
            text = text[max(room - _OVERLAP, 0) :]
            name = part_of(target, name)
            target = BodyRegion.TEXT if target is _BODY else BodyRegion.HEAD
        if len(text) > self.text_left:
            self.note(target, "rest")
            text = text[: self.text_left]
        self.text_left -= len(text)
        self.has_texts = True
        if text:
            self.append((target, name, text))

    def note(self, target: Region, what: str) -> None:
        """Append the mark of incomplete inspection, at most once for the head and once for the body.

        It has no name, because it may stand for several values.
        """
        if not self.is_noted:
            self.is_noted = True
            self.append((_NOTED_AS.get(target, _BODY), None, UNINSPECTED + what))

    def are_texts(self, length: int, long: int) -> bool:
        """True if body fields of this length are texts: beyond what all rules inspect, or too many long ones."""
        return self.left <= 0 or (self.judged_left <= 0 and length >= long)

    def may_be_apart(self, text: str) -> bool:
        """True if a field that is a text in any case is decoded by itself; else joined with others, without a name."""
        self.apart_left -= len(text)
        return self.apart_left >= 0

    def limit_forms(self) -> None:
        """Inspect the further forms of fewer values one by one: there are too many values, which is noted."""
        self.formed_left = min(self.formed_left, MAX_FORMED_OF_MANY)
        self.signs_left = min(self.signs_left, MAX_SIGNS_OF_MANY)

    def judged(self, found: BodyText) -> BodyText:
        """Return a text of a body with its region; of too many long values, TEXT.

        Beyond what all rules inspect, ``put`` makes a text of any value.
        """
        if not found.is_field:
            return found
        if self.left <= 0:
            return rest_text(found.text, found.name, _BODY)
        if is_long(found.text):
            if self.judged_left <= 0:
                return rest_text(found.text, found.name)
            self.judged_left -= min(len(found.text), _MAX_JUDGED_OF_ONE)
        return field_text(found.name, found.text)

    def may_form(self, target: Region, text: str) -> bool:
        """True if the further forms of a value are inspected separately; else together with those of others."""
        if self.formed_left > 0:
            self.formed_left -= 1
            return True
        self.note(target, "forms")
        self._unformed.append(text)
        return False

    def finish(self) -> None:
        """Append the further forms of the values beyond ``MAX_FORMED``, as one text."""
        if self._unformed:
            text = _JOINT.join(self._unformed)[:_MAX_TOGETHER]
            self.put(BodyRegion.TEXT, None, loosened(split_at_signs(text, _MAX_SIGNS_TOGETHER)[0]).replace("\n", "\r"))
