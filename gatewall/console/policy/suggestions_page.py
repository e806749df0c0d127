"""The page that suggests access rules from the log, and creates the ones that an operator selects."""

import hashlib
import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from gatewall.api.caller import caller_of
from gatewall.api.translation import messages_of
from gatewall.console.site.pages import OperatorPage
from gatewall.kernel.refusals import Refusal
from gatewall.whatif.rule_suggestions import Suggestions
from gatewall.whatif.rule_suggestions_view import AskedSuggestions, as_json
from policies.access_rules.services import create_access_rules
from policies.models import AuthorizedDomain

_WINDOWS = ((86_400, _("1 day")), (604_800, _("7 days")), (2_592_000, _("30 days")))


class SuggestionsPage(OperatorPage):
    """Suggested rules for ``?domain=&window=``."""

    template, title = "console/suggestions.html", _("Suggested access rules")

    def render(self, request: HttpRequest, status: HTTPStatus = HTTPStatus.OK, /, **context: Any) -> HttpResponse:
        names = AuthorizedDomain.objects.order_by("name").values_list("name", flat=True)
        asked = request.POST or request.GET
        chosen = {"domain": asked.get("domain", ""), "window": asked.get("window", "604800")}
        return super().render(request, status, names=names, windows=_WINDOWS, **chosen, **context)

    def get(self, request: HttpRequest) -> HttpResponse:
        if not request.GET.get("domain"):
            return self.render(request)
        form = _asked(request.GET)
        if not form.is_valid():
            return self.render(request, HTTPStatus.BAD_REQUEST, refused=_errors_of(form))
        return self._shown(request, form.answer())

    def post(self, request: HttpRequest) -> HttpResponse:
        """Create the rules of a suggestion, if they have not changed since the page was shown."""
        form = _asked(request.POST)
        if not form.is_valid():
            return self.render(request, HTTPStatus.BAD_REQUEST, refused=_errors_of(form))
        found = form.answer()
        suggested = {_digest(each["rules"]): each["rules"] for each in as_json(found)}
        rules = suggested.get(request.POST.get("rules", ""))
        if rules is None:
            words = gettext("The log has changed since the rules were shown. These are suggested now.")
            return self._shown(request, found, HTTPStatus.CONFLICT, refused=words)
        domain = form.validated_data["domain"]
        values = [{**rule, "domains": [domain]} for rule in rules]
        try:
            create_access_rules(actor=str(request.user), rules=values, caller=caller_of(request))
        except Refusal as refusal:
            return self._shown(request, found, HTTPStatus.CONFLICT, refused=" ".join(messages_of(refusal)))
        except ValidationError as error:
            return self._shown(request, found, HTTPStatus.BAD_REQUEST, refused=" ".join(messages_of(error)))
        messages.success(request, gettext("The rules were added after all other rules."))
        return HttpResponseRedirect(reverse("admin:policies_accessrule_changelist"))

    def _shown(
        self, request: HttpRequest, found: Suggestions, status: HTTPStatus = HTTPStatus.OK, **context: Any
    ) -> HttpResponse:
        shown = [{**each, "digest": _digest(each["rules"])} for each in as_json(found)]
        return self.render(request, status, found=found, shown=shown, **context)


def _asked(parameters: Mapping[str, Any]) -> AskedSuggestions:
    return AskedSuggestions(data={name: parameters[name] for name in ("domain", "window") if parameters.get(name)})


def _errors_of(form: AskedSuggestions) -> str:
    return "; ".join(str(each) for errors in form.errors.values() for each in errors)


def _digest(rules: list[dict[str, Any]]) -> str:
    return hashlib.sha256(json.dumps(rules, sort_keys=True).encode()).hexdigest()
