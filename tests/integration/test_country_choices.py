"""Country pickers: names in the reader's language and collation, and the code of a typed name."""

import pytest
from django.core.exceptions import ValidationError
from django.utils import translation

from policies.countries import COUNTRY_NAMES
from policies.country_choices import code_named, country_choices
from policies.validators import canonical_country


def test_every_country_can_be_picked_once():
    assert sorted(code for code, _ in country_choices()) == sorted(COUNTRY_NAMES)
    assert len(dict(country_choices())) == len(COUNTRY_NAMES) == 249


def test_names_are_in_alphabetical_order_accents_aside():
    labels = [label for _, label in country_choices()]

    assert labels[:4] == ["Afghanistan (AF)", "Åland Islands (AX)", "Albania (AL)", "Algeria (DZ)"]
    assert labels.index("Côte d'Ivoire (CI)") + 1 == labels.index("Croatia (HR)")


def test_names_are_chinese_for_a_chinese_reader_ordered_by_their_sound():
    with translation.override("zh-hans"):
        labels = [label for _, label in country_choices()]

    assert "德国 (DE)" in labels
    assert labels.index("阿尔巴尼亚 (AL)") < labels.index("德国 (DE)") < labels.index("中国 (CN)")


@pytest.mark.parametrize(("typed", "code"), [("Germany", "DE"), (" georgia ", "GE"), ("turkiye", "TR"), ("Ge", None)])
def test_a_whole_name_has_a_code(typed, code):
    assert code_named(typed) == code


def test_a_chinese_name_has_a_code_for_a_chinese_reader():
    with translation.override("zh-hans"):
        assert (code_named("德国"), code_named("Germany")) == ("DE", "DE")


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ("Germany", "'Germany' is the name of a country: write its code, DE"),
        ("Germania", "'Germania' is not an ISO 3166-1 alpha-2 country code"),
        ("\u017fe", "'\u017fe' is not an ISO 3166-1 alpha-2 country code"),  # a long s, whose capital is S
        ("\u0131t", "'\u0131t' is not an ISO 3166-1 alpha-2 country code"),  # a dotless i, whose capital is I
    ],
)
def test_a_name_is_refused_with_the_code_to_write(sent, words):
    with pytest.raises(ValidationError) as refused:
        canonical_country(sent)

    assert (refused.value.messages, refused.value.code) == ([words], "unknown-country")
