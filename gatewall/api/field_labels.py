"""Labels of fields in plain English, derived from their names."""

import re

_ACRONYMS = re.compile(r"\b(?:api|cpu|waf|ip|id|url|asns|amr)\b")
_OTHERS = {"asns": "AS numbers"}
_WHOLE = {"at": "time", "last_at": "last time"}


def label_of(name: str) -> str:
    """Return the label of a field, with acronyms in capitals."""
    name = _WHOLE.get(name.replace(" ", "_"), name)
    return _ACRONYMS.sub(lambda found: _OTHERS.get(found[0], found[0].upper()), name.replace("_", " "))
