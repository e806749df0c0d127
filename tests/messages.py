"""The catalogue of translations: `python -m tests.messages` brings it up to date with the code and compiles it.

New texts are left empty for a translator; tests/unit/test_translations.py fails until they are filled in.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import polib
from django.utils.translation.template import templatize

BASE = Path(__file__).resolve().parents[1]
PORTAL = BASE / "gatewall" / "portal"
CATALOGUE = PORTAL / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po"
_FUNCTIONS = {"_", "gettext", "gettext_lazy", "ngettext"}
_CALL = re.compile(r"\b(?:_|gettext)\((u?(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"))\)")
Message = tuple[str, str]
"""What is translated, and its plural or nothing."""


def in_python(source: str) -> Iterator[Message]:
    """Yield the texts of calls of gettext and its kin."""
    for call in ast.walk(ast.parse(source)):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in _FUNCTIONS:
            texts = [part.value for part in call.args if isinstance(part, ast.Constant) and isinstance(part.value, str)]
            yield texts[0], texts[1] if call.func.id == "ngettext" else ""


def in_template(source: str) -> Iterator[Message]:
    """Yield the texts of the tags translate and blocktranslate, and of ``_()``."""
    for literal in _CALL.findall(templatize(source)):
        yield ast.literal_eval(literal), ""


def used() -> dict[Message, list[str]]:
    """Return every text of the visitor pages, and the files that it is in."""
    found: dict[Message, list[str]] = {}
    for path in sorted([*PORTAL.rglob("*.py"), *PORTAL.rglob("*.html")]):
        read = in_python if path.suffix == ".py" else in_template
        for message in read(path.read_text()):
            places = found.setdefault(message, [])
            name = str(path.relative_to(BASE))
            places += [name] if name not in places else []
    return found


def update(catalogue: polib.POFile) -> None:
    """Give the catalogue the texts that are used, with the translations that it has."""
    known = {(entry.msgid, entry.msgid_plural): entry for entry in catalogue}
    catalogue.clear()
    for (text, plural), places in used().items():
        entry = known.get((text, plural)) or polib.POEntry(msgid=text, msgid_plural=plural)
        if plural and not entry.msgstr_plural:
            entry.msgstr_plural = {0: ""}
        entry.occurrences = [(place, "") for place in places]
        entry.flags = ["python-format"] if re.search(r"%\(\w+\)[sd]", text) else []
        catalogue.append(entry)


def main() -> None:
    """Write django.po and django.mo."""
    catalogue = polib.pofile(str(CATALOGUE))
    update(catalogue)
    catalogue.save()
    CATALOGUE.with_suffix(".mo").write_bytes(catalogue.to_binary())


if __name__ == "__main__":
    main()
