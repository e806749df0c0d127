"""Page that tries the pattern of a WAF rule on an example before the rule is saved."""

from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, QueryDict
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from gatewall.api.translation import messages_of, translated
from gatewall.console.site.pages import OperatorPage
from gatewall.engine.model import Action
from gatewall.engine.waf.rules import Operator, Target
from gatewall.replay.explanation import MadeUpRequest
from gatewall.whatif.rule_trial import NoPolicy, try_request

MAX_EXAMPLE = 8_192
_CLIENT = "192.0.2.1"


class PatternTrialPage(OperatorPage):
    """Show where a draft of a rule matches in an example; the form of the rule sends its fields here.

    With ``?part=1`` the response is only the result, for the script of the form.
    """

    http_method_names = ["post"]
    template, title = "console/pattern_trial.html", _("Try the pattern")
    post_reads = True

    def post(self, request: HttpRequest) -> HttpResponse:
        example = request.POST.get("example", "").replace("\r\n", "\n")[:MAX_EXAMPLE]
        found = {"example": example, **_tried(request.POST, example)}
        if request.GET.get("part"):
            return TemplateResponse(request, "console/_pattern_trial.html", found)
        return self.render(request, HTTPStatus.OK, **found)


def _tried(form: QueryDict, example: str) -> dict[str, Any]:
    """Return the places where the rule matches, or the errors of the rule."""
    rule = {
        "name": "?",  # no rule has this name, so the draft replaces none
        "pattern": form.get("pattern", "").replace("\r\n", "\n"),
        "operator": form.get("operator", Operator.REGEX.value),
        "targets": form.getlist("targets"),
        "transforms": [text for text in form.getlist("transforms") if text],
        "action": form.get("action", Action.BLOCK.value),
    }
    try:
        made_up, body = _request_with(example, set(rule["targets"]))
        result = try_request(made_up, body, rule)
    except ValidationError as error:
        return {"errors": messages_of(error)}
    except (NoPolicy, ValueError):
        return {"errors": [gettext("There is no policy yet that the rule could be tried in.")]}
    places: list[Any] = next((each["places"] for each in result["rules"] if each["draft"]), [])
    warnings = [translated(text) for text in result["warnings"]]
    return {"places": places, "is_match": bool(places), "warnings": warnings, "fault": result["fault"]}


def _request_with(example: str, targets: set[str]) -> tuple[MadeUpRequest, bytes | None]:
    """Return a request with the example in the parts that the rule inspects, and its body."""
    text = example.encode().decode("latin-1")
    line = text.replace("\n", " ").replace("\0", "")
    uri = line if line.startswith("/") else f"/?example={quote(example)}"
    headers = [("Content-Type", "text/plain")] if Target.BODY in targets else []
    for target, name in ((Target.USER_AGENT, "User-Agent"), (Target.REFERER, "Referer"), (Target.HEADERS, "X-Example")):
        headers += [(name, line.strip())] if target in targets else []
    headers += [("Cookie", f"example={line.strip()}")] if Target.COOKIES in targets else []
    made_up = MadeUpRequest(
        client=_CLIENT, host="localhost", method="GET", uri=uri.replace(" ", "%20"), headers=tuple(headers)
    )
    return made_up, text.encode("latin-1") if Target.BODY in targets else None
