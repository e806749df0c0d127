"""Every text of the pages has a Simplified Chinese translation, and the compiled catalogs are current."""

import re

import polib
import pytest
from django.utils import translation
from django.utils.translation import gettext, ngettext

from tests.messages import CATALOGS, in_python, in_template, update, used

ENTRIES = {name: polib.pofile(str(path)) for name, path in CATALOGS.items()}
EVERY = pytest.mark.parametrize("name", CATALOGS)


@EVERY
def test_the_catalog_has_exactly_the_texts_of_the_code(name):
    assert {(entry.msgid, entry.msgid_plural) for entry in ENTRIES[name]} == set(used(name))


@EVERY
def test_every_text_is_translated(name):
    assert [entry.msgid for entry in ENTRIES[name] if not entry.translated() or entry.fuzzy or entry.obsolete] == []


@EVERY
def test_the_compiled_catalog_equals_its_source(name):
    assert CATALOGS[name].with_suffix(".mo").read_bytes() == ENTRIES[name].to_binary()


@EVERY
def test_a_translation_keeps_what_is_filled_in_and_the_markup(name):
    parts = re.compile(r"%\(\w+\)[sd]|</?\w+>|\b[A-Z]+(?:[-_][A-Z]\w*)+\b")
    for entry in ENTRIES[name]:
        for text in entry.msgstr_plural.values() or [entry.msgstr]:
            assert sorted(parts.findall(text)) == sorted(parts.findall(entry.msgid)), entry.msgid


@EVERY
def test_no_catalog_overrides_another(name):
    with translation.override("zh-hans"):
        for entry in ENTRIES[name]:
            if entry.msgid_plural:
                assert ngettext(entry.msgid, entry.msgid_plural, 2) == entry.msgstr_plural[0]
            else:
                assert gettext(entry.msgid) == entry.msgstr


@EVERY
def test_an_untranslated_text_is_noticed(name):
    catalog = polib.POFile()

    update(catalog, name)

    assert len(catalog) == len(used(name)) > 80
    assert catalog.percent_translated() == 0


def test_texts_are_found_wherever_they_may_stand():
    assert list(in_python('_("a")\nngettext("b", "c", 2)\nx = {1: gettext_lazy("d"), 2: _(variable)}')) == [
        ("a", ""),
        ("b", "c"),
        ("d", ""),
    ]
    source = """{% load i18n %}{% translate "it's" %}<a title="{% translate 'b' %}">{{ x|default:_("c") }}
        {% blocktranslate with n=x.y %}d <b>{{ n }}</b>{% endblocktranslate %}{% include "x" with l=_("e") only %}
        {% blocktranslate count n=x %}{{ n }} row{% plural %}{{ n }} rows{% endblocktranslate %}"""
    assert set(in_template(source)) == {
        ("it's", ""),
        ("b", ""),
        ("c", ""),
        ("d <b>%(n)s</b>", ""),
        ("e", ""),
        ("%(n)s row", "%(n)s rows"),
    }
