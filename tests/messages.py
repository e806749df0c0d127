"""Update the translation catalogs from the code, and compile them: `python -m tests.messages`.

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
FOLDERS = {
    "portal": ("gatewall/portal",),
    "console": (
        "gatewall/console",
        *("accounts", "audit", "licensing", "policies", "webhooks"),
        *(
            f"gatewall/{folder}"
            for folder in ("admin", "api", "doctor", "engine", "gate", "health", "install", "kernel", "models")
        ),
        *(f"gatewall/{folder}" for folder in ("operations", "policy", "publication", "whatif", "templates/admin")),
    ),
}
"""Source folders of each catalog; the catalog is in the first one."""
CATALOGS = {
    name: BASE / folders[0] / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po" for name, folders in FOLDERS.items()
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
"""Texts in data, which are translated when a page shows them."""
_FUNCTIONS = {"_", "gettext", "gettext_lazy", "gettext_noop", "ngettext"}
_TEXT = r"(u?(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"))"
_CALL = re.compile(rf"\b(?:ngettext\({_TEXT}, {_TEXT}, count|(?:_|gettext)\({_TEXT})\)")
Message = tuple[str, str]
"""A text to translate, and its plural or an empty text."""


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
    """Return every text of a catalog's pages, and the files that contain it."""
    found: dict[Message, list[str]] = {}
    for place, message in _read(name):
        places = found.setdefault(message, [])
        places += [place] if place not in places else []
    return found


def _read(name: str) -> Iterator[tuple[str, Message]]:
    folders = [BASE / folder for folder in FOLDERS[name]]
    inside = (path for folder in folders for kind in ("*.py", "*.html") for path in folder.rglob(kind))
    for path in sorted([*(folder for folder in folders if folder.is_file()), *inside]):
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


def update(catalog: polib.POFile, name: str) -> None:
    """Set the entries of the catalog to the used texts, with their existing translations."""
    known = {(entry.msgid, entry.msgid_plural): entry for entry in catalog}
    catalog.clear()
    for (text, plural), places in used(name).items():
        entry = known.get((text, plural)) or polib.POEntry(msgid=text, msgid_plural=plural)
        if plural and not entry.msgstr_plural:
            entry.msgstr_plural = {0: ""}
        entry.occurrences = [(place, "") for place in places]
        entry.flags = ["python-format"] if re.search(r"%\(\w+\)[sd]", text) else []
        catalog.append(entry)


def main() -> None:
    """Write django.po and django.mo of each."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    translation.activate("en")
    for name, path in CATALOGS.items():
        catalog = polib.pofile(str(path))
        update(catalog, name)
        catalog.save()
        path.with_suffix(".mo").write_bytes(catalog.to_binary())


if __name__ == "__main__":
    main()
