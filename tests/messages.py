"""The catalogues of translations: `python -m tests.messages` brings them up to date with the code and compiles them.

New texts are left empty for a translator; tests/integration/test_translations.py fails until they are filled in.
"""

import ast
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import django
import polib
from django.utils import translation
from django.utils.translation.template import templatize

from audit.spool.records import FIELDS
from gatewall.engine.model import Reason
from gatewall.engine.steps import STEPS
from policies.countries import COUNTRY_NAMES

BASE = Path(__file__).resolve().parents[1]
ROOMS = {
    "portal": ("gatewall/portal",),
    "console": (
        "gatewall/console",
        *("accounts", "audit", "licensing", "policies", "webhooks"),
        *(
            f"gatewall/{room}"
            for room in ("admin", "api", "doctor", "engine", "gate", "health", "install", "kernel", "models")
        ),
        *(f"gatewall/{room}" for room in ("operations", "policy", "publication", "whatif", "templates/admin")),
    ),
}
"""Where the texts of each catalogue stand; it lies in the folder of the first."""
CATALOGUES = {
    name: BASE / rooms[0] / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po" for name, rooms in ROOMS.items()
}
DATA: dict[str, dict[str, Iterable[str]]] = {
    "portal": {"gatewall/engine/model.py": [reason.visitor_words for reason in Reason if reason.visitor_words]},
    "console": {
        "audit/spool/records.py": [label for field in FIELDS for label in field.words.values()],
        "policies/countries.py": COUNTRY_NAMES.values(),
        "gatewall/engine/model.py": [text for reason in Reason for text in (reason.words, reason.advice) if text],
        "gatewall/engine/steps.py": [step.title for step in STEPS],
    },
}
"""Texts that are data, and are translated where a page shows them."""
_FUNCTIONS = {"_", "gettext", "gettext_lazy", "gettext_noop", "ngettext"}
_TEXT = r"(u?(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"))"
_CALL = re.compile(rf"\b(?:ngettext\({_TEXT}, {_TEXT}, count|(?:_|gettext)\({_TEXT})\)")
Message = tuple[str, str]
"""What is translated, and its plural or nothing."""


def in_python(source: str) -> Iterator[Message]:
    """Yield the texts of calls of gettext and its kin."""
    for call in ast.walk(ast.parse(source)):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in _FUNCTIONS:
            texts = [part.value for part in call.args if isinstance(part, ast.Constant) and isinstance(part.value, str)]
            if texts:
                yield texts[0], texts[1] if call.func.id == "ngettext" else ""


def in_template(source: str) -> Iterator[Message]:
    """Yield the texts of the tags translate and blocktranslate, and of ``_()``."""
    for singular, plural, literal in _CALL.findall(templatize(source)):
        yield ast.literal_eval(literal or singular), ast.literal_eval(plural) if plural else ""


def used(name: str) -> dict[Message, list[str]]:
    """Return every text of a catalogue's pages, and the files that it is in."""
    found: dict[Message, list[str]] = {}
    for place, message in _read(name):
        places = found.setdefault(message, [])
        places += [place] if place not in places else []
    return found


def _read(name: str) -> Iterator[tuple[str, Message]]:
    rooms = [BASE / room for room in ROOMS[name]]
    inside = (path for room in rooms for kind in ("*.py", "*.html") for path in room.rglob(kind))
    for path in sorted([*(room for room in rooms if room.is_file()), *inside]):
        read = in_python if path.suffix == ".py" else in_template
        for message in read(path.read_text()):
            yield str(path.relative_to(BASE)), message
    for place, texts in DATA.get(name, {}).items():
        for text in texts:
            yield place, (text, "")
    if name == "console":
        from gatewall.admin import labels  # noqa: PLC0415 - after django.setup()

        for text in labels.texts():
            yield "gatewall/admin/labels.py", (text, "")


def update(catalogue: polib.POFile, name: str) -> None:
    """Give the catalogue the texts that are used, with the translations that it has."""
    known = {(entry.msgid, entry.msgid_plural): entry for entry in catalogue}
    catalogue.clear()
    for (text, plural), places in used(name).items():
        entry = known.get((text, plural)) or polib.POEntry(msgid=text, msgid_plural=plural)
        if plural and not entry.msgstr_plural:
            entry.msgstr_plural = {0: ""}
        entry.occurrences = [(place, "") for place in places]
        entry.flags = ["python-format"] if re.search(r"%\(\w+\)[sd]", text) else []
        catalogue.append(entry)


def main() -> None:
    """Write django.po and django.mo of each."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    translation.activate("en")
    for name, path in CATALOGUES.items():
        catalogue = polib.pofile(str(path))
        update(catalogue, name)
        catalogue.save()
        path.with_suffix(".mo").write_bytes(catalogue.to_binary())


if __name__ == "__main__":
    main()
