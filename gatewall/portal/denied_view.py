"""Page that a proxy shows instead of a bare 403: the kind of refusal and the decision id to quote."""

import re

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext, gettext_noop
from django.views import View
from django.views.decorators.csrf import csrf_exempt

from gatewall.engine.grants import LIFTED_BY_GRANTS
from gatewall.engine.model import Reason
from gatewall.portal import pages

_DECISION_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_WORDS = {reason.value: reason.visitor_words for reason in Reason if reason.visitor_words}
_DEFAULT_WORDS = gettext_noop("You may not enter this site.")


@method_decorator(csrf_exempt, name="dispatch")  # unsupported methods get 405
class Denied(View):
    """Show the kind of a refusal, but never the rule. Uses headers only from a trusted proxy."""

    http_method_names = ["get", "head"]

    def get(self, request: HttpRequest) -> HttpResponse:
        trusted = settings.GATEWALL_TRUSTED_PROXIES.trusts_peer(request.META.get("REMOTE_ADDR", ""))
        headers = request.headers if trusted else {}
        reason, decision_id = headers.get("X-Gatewall-Reason", ""), headers.get("X-Gatewall-Decision-Id", "")
        target_url = "{}://{}{}".format(*(headers.get(f"X-Forwarded-{part}", "") for part in ("Proto", "Host", "Uri")))
        words = {
            "words": gettext(_WORDS.get(reason, _DEFAULT_WORDS)),
            "decision_id": decision_id if _DECISION_ID.fullmatch(decision_id) else "",
            "other_account": reason == Reason.HOST_NOT_IN_SCOPE.value,
        }
        return_url = pages.safe_return_url(request, target_url)
        home, mark, query = pages.guard_url(return_url).partition("?")
        words["ask"] = (
            f"{home}ask/{decision_id}{mark}{query}" if words["decision_id"] and reason in LIFTED_BY_GRANTS else ""
        )
        return pages.page(request, "denied", words, return_url=return_url, status=403)
