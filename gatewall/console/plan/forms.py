"""Form of a plan: a policy document, pasted or uploaded, and the window of its replay."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from gatewall.console.backtest.draft_form import WINDOWS
from gatewall.whatif.backtest.proposals import WholeDocument
from policies.document.reading import read

MAX_BYTES = 1000 * 1024
"""Less than the 1 MiB that a whole form may have."""
_WEEK = "168"
_TOO_LONG = _("A document in this form has at most 1000 KiB; plan a longer one by gatewall policy plan.")


class PlanForm(forms.Form):
    """A policy document and a window."""

    document = forms.CharField(required=False, strip=False)
    file = forms.FileField(required=False)
    force = forms.BooleanField(required=False)
    window = forms.ChoiceField(choices=list(WINDOWS.items()), initial=_WEEK)

    def clean(self) -> dict[str, Any]:
        """Set ``data`` to the bytes of the document; line ends, which browsers change, are line feeds."""
        values = super().clean() or {}
        sent, text = values.get("file"), values.get("document") or ""
        if sent is not None and text.strip():
            raise ValidationError(_("Paste a document or choose a file, not both."))
        data = sent.read(MAX_BYTES + 1) if sent is not None else text.encode()
        if len(data) > MAX_BYTES:
            raise ValidationError(_TOO_LONG)
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if not data.strip():
            raise ValidationError(_("Paste a document, or choose a file."))
        values["data"] = data
        return values

    def text(self) -> str:
        """Return the document as sent, to show it again."""
        return str(self.cleaned_data["data"].decode("utf-8", "replace"))

    def proposal(self) -> WholeDocument:
        """Return the proposal of a valid form. Raises DocumentRefused."""
        return WholeDocument.of(read(self.cleaned_data["data"]), force=self.cleaned_data["force"])

    def window_until_now(self) -> tuple[datetime, datetime]:
        """Return the start and the end of the window of a valid form."""
        end = timezone.now()
        return end - timedelta(hours=int(self.cleaned_data["window"])), end
