"""Form fields of a WAF rule: transforms in their order, and exclusions as rows; both work without a script."""

from datetime import UTC, datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from gatewall.engine.waf.exclusions import Part
from gatewall.engine.waf.rules import Transform
from policies.exclusions import MAX_EXCLUSIONS

_EMPTY_ROWS = 2
_PATHS = (
    ("path_prefix", _("path and below")),
    ("path_exact", _("this path")),
    ("path_glob", _("glob")),
)
_PARTS = {
    Part.ARGUMENT: _("argument"),
    Part.HEADER: _("header"),
    Part.COOKIE: _("cookie"),
    Part.JSON_PATH: _("JSON path"),
    Part.XML_PATH: _("XML path"),
    Part.MULTIPART_FIELD: _("multipart field"),
}
_COLUMNS = ("domain", "path_kind", "path", "part", "name", "expires")
TRANSFORMS = {
    Transform.LOWERCASE: _("lowercase"),
    Transform.URL_DECODE: _("decode percent signs"),
    Transform.HTML_DECODE: _("decode HTML entities"),
    Transform.BASE64_DECODE: _("decode Base64"),
    Transform.COMPRESS_WHITESPACE: _("compress white space"),
    Transform.REMOVE_WHITESPACE: _("remove white space"),
    Transform.REMOVE_NULS: _("remove NUL bytes"),
    Transform.NORMALIZE_PATH: _("normalize the path"),
}


class _Rows(forms.Widget):
    """Base class of widgets with several inputs a row; their value is a list."""

    def format_value(self, value: Any) -> Any:
        return value

    def id_for_label(self, id_: str) -> str:
        return ""


class TransformRows(_Rows):
    """One select box per transform, in their order, with empty ones to add more."""

    template_name = "admin/policies/transform_rows.html"

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context(name, value, attrs)
        chosen = list(value) if isinstance(value, list) else []
        unknown = [(text, text) for text in chosen if text not in TRANSFORMS]
        context["widget"]["rows"] = [*chosen, *[""] * _EMPTY_ROWS]
        context["widget"]["choices"] = [*((each.value, label) for each, label in TRANSFORMS.items()), *unknown]
        return context

    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[str]:
        return [word for text in data.getlist(name) for word in text.replace(",", " ").split()]

    def value_omitted_from_data(self, data: Any, files: Any, name: str) -> bool:
        return name not in data


class ExclusionRows(_Rows):
    """A row for each exclusion: domain and path, part of the request, and expiry; an empty row is ignored."""

    template_name = "admin/policies/exclusion_rows.html"

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context(name, value, attrs)
        rows = [_as_row(each) for each in value or () if isinstance(each, dict)]
        empty = dict.fromkeys(_COLUMNS, "")
        context["widget"]["rows"] = [*rows, *[empty] * min(1, max(0, MAX_EXCLUSIONS - len(rows)))]
        context["widget"]["paths"] = _PATHS
        context["widget"]["parts"] = [(part.value, label) for part, label in _PARTS.items()]
        return context

    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[dict[str, str]]:
        columns = [data.getlist(f"{name}_{column}") for column in _COLUMNS]
        rows = (dict(zip(_COLUMNS, row, strict=True)) for row in zip(*columns, strict=False))
        return [each for row in rows if (each := _as_exclusion(row))]

    def value_omitted_from_data(self, data: Any, files: Any, name: str) -> bool:
        return f"{name}_domain" not in data


def _as_row(exclusion: dict[str, Any]) -> dict[str, str]:
    path = next((kind for kind, _label in _PATHS if exclusion.get(kind)), "")
    part = next((each.value for each in _PARTS if exclusion.get(each.value)), "")
    return {
        "domain": exclusion.get("domain") or "",
        "path_kind": path,
        "path": exclusion.get(path) or "",
        "part": part,
        "name": exclusion.get(part) or "",
        "expires": _shown_moment(exclusion.get("expires_at")),
    }


def _shown_moment(text: Any) -> str:
    """Return a moment in UTC in the format of the browser's picker; empty without a moment."""
    try:
        return datetime.fromisoformat(str(text)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")
    except ValueError:
        return ""


def _as_exclusion(row: dict[str, str]) -> dict[str, str]:
    row = {name: text.strip() for name, text in row.items()}
    found = {"domain": row["domain"], row["path_kind"]: row["path"], row["part"]: row["name"]}
    kept = {field: text for field, text in found.items() if field and text}
    if row["name"] and not row["part"]:
        kept["?"] = row["name"]  # refused by clean(): a name without its part of the request
    if row["path"] and not row["path_kind"]:
        kept["path_prefix"] = row["path"]
    if row["expires"]:
        kept["expires_at"] = f"{row['expires']}Z"
    return kept


class _RowsField(forms.Field):
    """Edit a list; the model's validator checks it."""

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(list(initial or []) != list(data or []))


class TransformsField(_RowsField):
    """Edit an ordered list of transforms."""

    widget = TransformRows


class ExclusionsField(_RowsField):
    """Edit the exclusions of a rule."""

    widget = ExclusionRows

    def clean(self, value: Any) -> Any:
        if any("?" in each for each in value or ()):
            raise ValidationError(_("Choose what the name is of: an argument, a header, or another part."), "invalid")
        return super().clean(value)

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool([_as_row(each) for each in initial or []] != [_as_row(each) for each in data or []])
