"""Labels and help texts of the fields of our models, in the language of the reader.

Fields are declared in plain English, which the API uses. Pages translate the same words with the console's catalog.
"""

from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.db import models
from django.utils.translation import gettext_lazy

from gatewall.admin.settings_words import WORDS
from gatewall.api.field_labels import label_of
from gatewall.models import SystemSettings


def translate_fields() -> None:
    """Translate labels, help texts and choices of all fields to the reader's language. Migrations stay in English."""
    for model in apps.get_models():
        if model.__module__.startswith("django."):
            continue
        names = model._meta  # noqa: SLF001 - Django's documented API
        if isinstance(names.verbose_name, str):  # else it is translated, like its plural
            names.verbose_name, names.verbose_name_plural = _translated(names.verbose_name, names.verbose_name_plural)
        for field in (*model._meta.fields, *model._meta.many_to_many):  # noqa: SLF001 - Django's documented API
            if model is SystemSettings and field.name in WORDS:
                field.verbose_name = WORDS[field.name].label  # type: ignore[assignment]  # lazy texts, which the stubs know by another name
            elif isinstance(field.verbose_name, str):
                field.verbose_name = gettext_lazy(label_of(field.verbose_name))
            if isinstance(field.help_text, str) and field.help_text:
                field.help_text = gettext_lazy(field.help_text)
            if field.choices:
                field.choices = [(value, gettext_lazy(str(label))) for value, label in field.flatchoices]


def _translated(*texts: Any) -> Iterator[Any]:
    """Yield each text in the reader's language, except the plural that Django derives from a name."""
    for text in texts:
        yield gettext_lazy(str(text))


def texts() -> list[str]:
    """Return the labels, help texts and choices of the models and forms that have pages, for the catalog."""
    from django.contrib import admin  # noqa: PLC0415 - loads every admin module

    admin.autodiscover()
    found: list[models.Field[object, object]] = []
    words: list[str] = []
    for model in filter(admin.site.is_registered, apps.get_models()):
        page = admin.site.get_model_admin(model)
        for each in (model, *(inline.model for inline in page.inlines)):
            found += [*each._meta.fields, *each._meta.many_to_many]  # noqa: SLF001 - Django's documented API
        words += [str(model._meta.verbose_name), str(model._meta.verbose_name_plural)]  # noqa: SLF001 - the same
        for name, field in getattr(page.form, "declared_fields", {}).items():
            words += [str(field.label or label_of(name)), str(field.help_text)]
    own = [each for each in found if each.model is not SystemSettings]
    labels = [str(each.verbose_name) for each in own]
    choices = [str(label) for each in own for _value, label in each.flatchoices]
    return [
        text for text in dict.fromkeys([*labels, *(str(each.help_text) for each in found), *choices, *words]) if text
    ]
