"""Every text of the visitor pages is there in Simplified Chinese, and what runs is what was translated."""

import re

import polib
import pytest

from tests.messages import CATALOGUE, in_python, in_template, update, used

ENTRIES = polib.pofile(str(CATALOGUE))


def test_the_catalogue_has_every_text_of_the_code_and_no_other():
    assert {(entry.msgid, entry.msgid_plural) for entry in ENTRIES} == set(used())


def test_every_text_is_translated():
    assert [entry.msgid for entry in ENTRIES if not entry.translated() or entry.fuzzy or entry.obsolete] == []


def test_what_runs_is_what_was_translated():
    assert CATALOGUE.with_suffix(".mo").read_bytes() == ENTRIES.to_binary()


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.msgid[:40])
def test_a_translation_keeps_what_is_filled_in_and_the_markup(entry):
    parts = re.compile(r"%\(\w+\)[sd]|</?\w+>")
    for text in entry.msgstr_plural.values() or [entry.msgstr]:
        assert sorted(parts.findall(text)) == sorted(parts.findall(entry.msgid))


def test_a_text_that_nobody_has_translated_is_noticed(tmp_path):
    catalogue = polib.POFile()

    update(catalogue)

    assert len(catalogue) == len(used()) > 80
    assert catalogue.percent_translated() == 0


def test_texts_are_found_wherever_they_may_stand():
    assert list(in_python('_("a")\nngettext("b", "c", 2)\nx = {1: gettext_lazy("d")}')) == [
        ("a", ""),
        ("b", "c"),
        ("d", ""),
    ]
    source = """{% load i18n %}{% translate "it's" %}<a title="{% translate 'b' %}">{{ x|default:_("c") }}
        {% blocktranslate with n=x.y %}d <b>{{ n }}</b>{% endblocktranslate %}{% include "x" with l=_("e") only %}"""
    assert {text for text, _ in in_template(source)} == {"it's", "b", "c", "d <b>%(n)s</b>", "e"}
