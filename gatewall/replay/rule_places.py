"""Where WAF rules matched, for display: secrets masked, length limited. Pure."""

from collections.abc import Iterable, Sequence

from audit.spool.masking import MASK, has_secret_field, masked_path, masked_query, masked_text, masked_value
from gatewall.engine.model import AccessRequest
from gatewall.engine.waf.places import Place, Places
from gatewall.engine.waf.rules import Target, WafRule
from gatewall.kernel.clientip import UNKNOWN_CLIENT

MAX_SHOWN = 200
"""Characters of a matched text, or of a name."""
MAX_RULES = 100
"""Rules whose places are searched; further matches are listed without places."""
_NOTHING = AccessRequest(at=0.0, client=UNKNOWN_CLIENT)
_OF_SEVERAL = "\f"  # joins the arguments that follow those matched one by one


class RulePlaces:
    """Lazily finds where rules matched in one request."""

    def __init__(self, rules: Iterable[WafRule], request: AccessRequest | None, domain: str | None) -> None:
        """Without a request there are no places."""
        self._rules = {rule.id: rule for rule in rules} if request else {}
        self._places = Places(request or _NOTHING, domain)
        self._body = (request or _NOTHING).body or b""
        self._lookups = 0

    def of(self, rule_id: int) -> list[dict[str, object]]:
        """Return ``{target, name, form, text}`` of each place, secrets masked."""
        rule = self._rules.get(rule_id)
        self._lookups += 1
        return self.to_json(self._places.of(rule)) if rule is not None and self._lookups <= MAX_RULES else []

    def to_json(self, places: Sequence[Place]) -> list[dict[str, object]]:
        return [
            {
                "target": place.target.value,
                "name": None if place.name is None else _readable(masked_text(place.name)),
                "form": place.form.value,
                "text": self._text(place),
            }
            for place in places
        ]

    def _text(self, place: Place) -> str:
        # Half a secret is not recognized: mask the whole value, and hide matched text that is then gone.
        masked = self._masked(place)
        return _readable(place.text) if masked == place.value or place.text in masked else MASK

    def _masked(self, place: Place) -> str:
        name, value = place.name, place.value
        match place.target:
            case Target.URI | Target.REFERER if name is None:
                path, question, query = value.partition("?")
                return f"{masked_path(path)}{question}{masked_query(query)}"
            case Target.PATH:
                return masked_path(value)
            case Target.QUERY:
                return masked_query(value)
            case Target.HEADERS | Target.COOKIES if name in {None, "cookie"}:
                return MASK  # names of the values are unknown
            case Target.BODY if name is None and has_secret_field(self._body.decode("latin-1")):
                return MASK
            case Target.ARG_NAMES:
                return masked_text(value)
        return masked_value(name or "", value.replace(_OF_SEVERAL, "&"))


def _readable(text: str) -> str:
    """Decode UTF-8, with other bytes as hexadecimal escapes; truncated."""
    return text.encode("latin-1").decode("utf-8", "backslashreplace")[:MAX_SHOWN]
