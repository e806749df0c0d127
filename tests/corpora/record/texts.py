"""Texts that people type: sentences in many languages, names, and lines of documents and programs."""

import gettext
import random
import re
from pathlib import Path

import django

BASE = Path(__file__).resolve().parents[3]
_LOCALES = Path(django.__file__).parent
LANGUAGES = [
    "af",
    "ar",
    "az",
    "be",
    "bg",
    "bn",
    "br",
    "bs",
    "ca",
    "cs",
    "cy",
    "da",
    "de",
    "el",
    "eo",
    "es",
    "et",
    "eu",
    "fa",
    "fi",
    "fr",
    "fy",
    "ga",
    "gd",
    "gl",
    "he",
    "hi",
    "hr",
    "hu",
    "hy",
    "id",
    "is",
    "it",
    "ja",
    "ka",
    "kk",
    "km",
    "ko",
    "lt",
    "lv",
    "mk",
    "ml",
    "mn",
    "ms",
    "my",
    "nb",
    "ne",
    "nl",
    "pa",
    "pl",
    "pt",
    "ro",
    "ru",
    "sk",
    "sl",
    "sq",
    "sr",
    "sv",
    "ta",
    "te",
    "th",
    "tr",
    "uk",
    "ur",
    "uz",
    "vi",
    "zh_Hans",
    "zh_Hant",
]

_HERE = Path(__file__).parent
TYPED = (_HERE / "typed.txt").read_text().splitlines()

NAMES = """\
O'Brien|D'Angelo, Maria|Smith (Jr.)|Anne-Marie|José Ñandú|Zoë & Max|李小龙|Владимир|محمد|Łukasz Żółć|Åse|Müller & Co. KG
""".strip().split("|")


def translations(seed: int, count: int) -> list[str]:
    """Return messages of Django and their translations, the same ones for the same seed."""
    found: set[str] = set()
    for folder in (_LOCALES / "conf", _LOCALES / "contrib" / "admin", _LOCALES / "contrib" / "auth"):
        for language in LANGUAGES:
            path = folder / "locale" / language / "LC_MESSAGES" / "django.mo"
            if path.exists():
                with path.open("rb") as file:
                    catalog = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]  # private: there is no other list
                found.update(text for text in catalog.values() if isinstance(text, str) and _is_sentence(text))
    texts = sorted(re.sub(r"%\((\w+)\)[sd]", r"\1", text).replace("%%", "%") for text in found)
    return random.Random(seed).sample(texts, count)  # noqa: S311 - the same texts each time


def _is_sentence(text: str) -> bool:
    return 6 < len(text) < 160 and "<" not in text and "\n" not in text


def pasted(seed: int) -> list[str]:
    """Return lines copied from documents and programs: some are identical to parts of attacks."""
    return [*(_HERE / "pasted.txt").read_text().splitlines(), *sentences(seed, 300), *identifiers(seed, 200)]


def sentences(seed: int, count: int) -> list[str]:
    """Return lines of this project's own documents as somebody copies them into a search box."""
    lines = {
        line.strip()[:200]
        for path in sorted((BASE / "docs").rglob("*.md"))
        if path.name != "waf.md"  # it quotes attacks
        for line in path.read_text().splitlines()
        if len(line.strip()) > 12
    }
    return random.Random(seed).sample(sorted(lines), count)  # noqa: S311 - the same texts each time


def identifiers(seed: int, count: int) -> list[str]:
    """Return dotted names and signatures of this project's code, as a search for code has them."""
    pattern = re.compile(r"^(?:def|class) (\w+(?:\([^)]*\))?)|^from ([\w.]+) import \w+", re.MULTILINE)
    found = {
        match[0].removeprefix("from ")
        for path in sorted((BASE / "gatewall").rglob("*.py"))
        for match in pattern.finditer(path.read_text())
        if len(match[0]) < 120 and "\n" not in match[0]
    }
    return random.Random(seed).sample(sorted(found), count)  # noqa: S311 - the same texts each time
