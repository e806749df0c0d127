"""Labels and help texts of the fields of our models, in the language of the reader.

Fields are declared in plain English, which the API keeps. Pages show the same words through the console's catalogue.
"""

import re

from django.apps import apps
from django.db import models
from django.utils.translation import gettext_lazy

from gatewall.admin.settings_words import WORDS
from gatewall.models import SystemSettings

_ACRONYMS = re.compile(r"\b(?:api|cpu|waf|ip|id|url|asns)\b")
_OTHERS = {"asns": "AS numbers"}


def label_of(name: str) -> str:
    """Return the label of a field in English, with acronyms as people write them."""
    return _ACRONYMS.sub(lambda found: _OTHERS.get(found[0], found[0].upper()), name.replace("_", " "))


def translate_fields() -> None:
    """Make labels, help texts and choices of all fields follow the reader's language. Migrations do not see it."""
    for model in apps.get_models():
        if model.__module__.startswith("django."):
            continue
        for field in (*model._meta.fields, *model._meta.many_to_many):  # noqa: SLF001 - Django's documented API
            if model is SystemSettings and field.name in WORDS:
                field.verbose_name = WORDS[field.name].label  # type: ignore[assignment]  # lazy texts, which the stubs know by another name
            elif isinstance(field.verbose_name, str):
                field.verbose_name = gettext_lazy(label_of(field.verbose_name))
            if isinstance(field.help_text, str) and field.help_text:
                field.help_text = gettext_lazy(field.help_text)
            if field.choices:
                field.choices = [(value, gettext_lazy(str(label))) for value, label in field.flatchoices]


def texts() -> list[str]:
    """Return the labels, help texts and choices of the models that have pages, for the catalogue."""
    from django.contrib import admin  # noqa: PLC0415 - loads every admin module

    admin.autodiscover()
    found: list[models.Field[object, object]] = []
    for model in filter(admin.site.is_registered, apps.get_models()):
        found += [*model._meta.fields, *model._meta.many_to_many]  # noqa: SLF001 - Django's documented API
    own = [each for each in found if each.model is not SystemSettings]
    labels = [str(each.verbose_name) for each in own]
    choices = [str(label) for each in own for _value, label in each.flatchoices]
    return list(dict.fromkeys([*labels, *(str(each.help_text) for each in found if each.help_text), *choices]))
