"""Page that imports a block list: preview first, then import exactly what was previewed."""

import hashlib
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from gatewall.api.caller import caller_of
from gatewall.api.translation import messages_of
from gatewall.console.site.pages import OperatorPage
from gatewall.kernel.refusals import Refusal
from gatewall.policy import revisions
from policies.list_files.parsing import Format, ListDoubtful, ListRefused
from policies.lists.importing import Imported, ImportRules
from policies.lists.preview import MAX_BYTES, Proposal, import_as_shown, preview
from policies.validators import validate_list_name

_SALT = "gatewall.console.import"
_PREVIEW_LIFETIME = timedelta(hours=1)
_TOO_LONG = gettext_lazy("A list in this form has at most 512 KiB; import a longer one by gatewall import-list.")


class ListForm(forms.Form):
    """A list, pasted or uploaded."""

    name = forms.CharField(max_length=50, validators=[validate_list_name])
    kind = forms.ChoiceField(choices=[(each.value, each.value) for each in Format], required=False)
    days = forms.IntegerField(min_value=1, max_value=36_500, required=False)
    force = forms.BooleanField(required=False)
    text = forms.CharField(required=False, strip=False)
    file = forms.FileField(required=False)

    def clean(self) -> dict[str, Any] | None:
        """Replace the text by the uploaded file, and normalize line ends, which browsers change."""
        cleaned = super().clean() or {}
        sent, text = cleaned.get("file"), cleaned.get("text") or ""
        if sent is not None:
            if text.strip():
                raise forms.ValidationError(_("Paste a list or choose a file, not both."))
            text = sent.read(MAX_BYTES + 1).decode("utf-8", "replace")
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        if len(text.encode()) > MAX_BYTES:
            raise forms.ValidationError(str(_TOO_LONG))
        if not text.strip():
            raise forms.ValidationError(_("Paste a list, or choose a file."))
        cleaned["text"] = text
        return cleaned


class ImportList(OperatorPage):
    """The form, the preview of an import, and the import."""

    template = "console/import.html"
    title = gettext_lazy("Import a list")

    def get(self, request: HttpRequest) -> HttpResponse:
        return self._form(request, ListForm())

    def post(self, request: HttpRequest) -> HttpResponse:
        """Return the preview of an import or, with a signed preview, import."""
        form = ListForm(request.POST, request.FILES)
        if not form.is_valid():
            return self._form(request, form, HTTPStatus.BAD_REQUEST)
        if "shown" in request.POST:
            return self._import(request, form)
        return self._preview(request, form, _proposal(form))

    def _preview(
        self, request: HttpRequest, form: ListForm, proposal: Proposal, status: HTTPStatus = HTTPStatus.OK
    ) -> HttpResponse:
        try:
            list_preview = preview(proposal, caller=caller_of(request))
        except ListRefused as refused:
            form.add_error(None, messages_of(refused))
            may_force = isinstance(refused, ListDoubtful)
            return self._form(request, form, HTTPStatus.BAD_REQUEST, may_force=may_force, text=proposal.text)
        dropped = sorted(list_preview.imported.dropped.items())
        does, at = asdict(list_preview.imported), proposal.rules.at.timestamp()
        shown = signing.dumps({"at": at, "list": _digest(proposal), "does": does}, salt=_SALT)
        return self._form(request, form, status, found=list_preview, dropped=dropped, text=proposal.text, shown=shown)

    def _import(self, request: HttpRequest, form: ListForm) -> HttpResponse:
        try:
            signed = signing.loads(request.POST["shown"], salt=_SALT, max_age=_PREVIEW_LIFETIME)
            proposal = _proposal(form, datetime.fromtimestamp(signed["at"], UTC))
            if signed["list"] != _digest(proposal):
                raise signing.BadSignature  # noqa: TRY301 - the preview was of another list
        except signing.BadSignature:
            messages.error(request, _("The list differs from the preview, or the preview is too old. Review it again."))
            return self._preview(request, form, _proposal(form), HTTPStatus.CONFLICT)
        previewed = _import_result(signed["does"])
        try:
            imported = import_as_shown(proposal, previewed, actor=str(request.user), caller=caller_of(request))
        except (Refusal, ListRefused) as refusal:
            messages.error(request, " ".join(messages_of(refusal)))
            return self._preview(request, form, proposal, HTTPStatus.CONFLICT)
        if not imported.changes:
            messages.info(request, _("The list is the same: nothing was changed."))
            return redirect("console:import")
        messages.success(request, _("The list is imported."))
        return redirect("console:history-revision", number=revisions.current().revision)

    def _form(
        self, request: HttpRequest, form: ListForm, status: HTTPStatus = HTTPStatus.OK, **context: Any
    ) -> HttpResponse:
        return self.render(request, status, form=form, formats=[each.value for each in Format], **context)


def _proposal(form: ListForm, at: datetime | None = None) -> Proposal:
    values, at = form.cleaned_data, at or timezone.now().replace(microsecond=0)
    rules = ImportRules(
        at=at,
        trusted=settings.GATEWALL_TRUSTED_PROXIES,
        expires_at=at + timedelta(days=values["days"]) if values["days"] else None,
        force=values["force"],
    )
    return Proposal(values["text"], values["name"], rules, Format(values["kind"] or Format.AUTO))


def _digest(proposal: Proposal) -> str:
    rules = proposal.rules
    parts = (proposal.name, proposal.kind, str(rules.expires_at), str(rules.force), proposal.text)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _import_result(values: dict[str, Any]) -> Imported:
    lists = {name: tuple(values[name]) for name in ("examples", "bad_lines")}
    return Imported(**(values | lists))
