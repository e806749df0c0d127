"""Pages of the policy's history: revisions, their changes, restore and confirmation."""

from datetime import UTC, date, datetime, timedelta
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Page, Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from audit.events.revision_events import without_secrets
from gatewall.api.caller import caller_of
from gatewall.api.translation import messages_of
from gatewall.console.policy.changes import CHANGES_ON_PAGE, change_shown, counts_shown
from gatewall.console.site.pages import OperatorPage
from gatewall.kernel.changes import Resource
from gatewall.kernel.refusals import Refusal
from gatewall.models import PendingConfirmation, PolicyRevision
from gatewall.policy import revisions
from gatewall.publication.resources import title_of
from policies.history import confirmation
from policies.history.restore import Preview, preview, restore

_PAGE_SIZE = 25
_MAX_PAGE = 1_000_000
_CHANGES_IN_LIST = 3
_MAX_NUMBER = 2**63 - 1
_PARAMETERS = frozenset({"page", "actor", "resource", "day"})


class History(OperatorPage):
    """The list of revisions, newest first."""

    template = "console/history.html"
    title = gettext_lazy("Policy history")

    def get(self, request: HttpRequest) -> HttpResponse:
        actor, resource = request.GET.get("actor", ""), request.GET.get("resource", "")
        page, day = request.GET.get("page", "1"), _day(request.GET.get("day", ""))
        known = {"": _("everything")} | {each.value: title_of(each) for each in Resource}
        filters = {"actor": actor[:64], "resource": resource if resource in known else "", "day": day}
        context = {"filters": filters, "resources": known.items(), "days": _days()}
        is_number = page.isascii() and page.isdigit() and 0 < len(page) < 8 and 0 < int(page) <= _MAX_PAGE
        is_filter = resource in known and len(actor) <= 64 and "\0" not in actor and day is not None
        if set(request.GET) - _PARAMETERS or not is_filter or not is_number:
            messages.error(request, _("The address of this page has an invalid filter or page."))
            return self.render(request, HTTPStatus.BAD_REQUEST, **context)
        rows = PolicyRevision.objects.order_by("-number")
        if actor:
            rows = rows.filter(actor=actor)
        if resource:
            rows = rows.filter(resources__contains=f" {resource} ")
        if day:
            start = datetime.fromisoformat(day).replace(tzinfo=UTC)
            rows = rows.filter(committed_at__gte=start, committed_at__lt=start + timedelta(days=1))
        rows_page = Paginator(rows, _PAGE_SIZE).get_page(int(page))
        return self.render(request, page=rows_page, shown=_rows(rows_page), **context)


def _day(text: str) -> str | None:
    """Return a date as sent, empty without one; None if it is not a valid filter."""
    try:
        return text if not text or 1970 < date.fromisoformat(text).year < 9999 else None
    except ValueError:
        return None


def _days() -> list[tuple[str, str]]:
    today = timezone.now().astimezone(UTC).date()
    return [(_("Today"), today.isoformat()), (_("Yesterday"), (today - timedelta(days=1)).isoformat())]


class Revision(OperatorPage):
    """One revision: its changes, and the form to restore it."""

    template = "console/revision.html"
    title = gettext_lazy("Policy revision")

    def get(self, request: HttpRequest, number: int) -> HttpResponse:
        return self._page(request, _revision(number))

    def post(self, request: HttpRequest, number: int) -> HttpResponse:
        """Return the preview of a restore or, once confirmed for the same head, restore."""
        row, caller = _revision(number), caller_of(request)
        head = request.POST.get("head", "")
        try:
            if not head:
                return self._page(request, row, would=preview(row.number, caller=caller))
            force = request.POST.get("force") == "on"
            made = _restore_if_unchanged(row.number, head, actor=str(request.user), caller=caller, force=force)
            if made is None:
                messages.error(request, _("The policy has changed since this preview. Review the differences again."))
                would = preview(row.number, caller=caller)
                return self._page(request, row, HTTPStatus.CONFLICT, would=would)
        except (Refusal, ValidationError) as error:
            messages.error(request, " ".join(messages_of(error)))
            return self._page(request, row, HTTPStatus.CONFLICT)
        messages.success(request, _("The policy is restored to revision %(number)s.") % {"number": number})
        return redirect("console:history-revision", number=made.number)

    def _page(
        self,
        request: HttpRequest,
        row: PolicyRevision,
        status: HTTPStatus = HTTPStatus.OK,
        would: Preview | None = None,
    ) -> HttpResponse:
        changes = row.changes or []
        if not getattr(request.user, "is_staff", False):
            changes = [without_secrets(change) for change in changes]
        would_change = ((would.changes if would else None) or [])[:CHANGES_ON_PAGE]
        return self.render(
            request,
            status,
            revision=row,
            changes=[change_shown(change) for change in changes[:CHANGES_ON_PAGE]],
            left_out=max(0, len(changes) - CHANGES_ON_PAGE),
            counts=counts_shown(row.counts),
            head=revisions.current().revision,
            confirmation=PendingConfirmation.objects.filter(pk=row.number).first(),
            would=would,
            would_change=[change_shown(change) for change in would_change],
            would_count=counts_shown(would.counts) if would else [],
        )


class Confirmation(OperatorPage):
    """Confirm or revert a forced change that locks out its author."""

    title = gettext_lazy("Confirm a change")
    http_method_names = ["post"]

    def post(self, request: HttpRequest, number: int) -> HttpResponse:
        row, word = _revision(number), request.POST.get("word", "")
        try:
            if word == "keep":
                confirmation.confirm(row.number, actor=str(request.user))
                messages.success(request, _("The change is kept."))
            elif word == "revert":
                confirmation.revert(row.number, actor=str(request.user))
                messages.success(request, _("The change is reverted."))
            else:
                messages.error(request, _("Keep it, or revert it."))
        except Refusal as refusal:
            messages.error(request, " ".join(messages_of(refusal)))
        return redirect("console:history-revision", number=number)


@revisions.one_at_a_time
def _restore_if_unchanged(number: int, head: str, **how: Any) -> PolicyRevision | None:
    """Restore if the head is still the previewed one, else return None; under the revision lock."""
    if head != str(revisions.current().revision):
        return None
    return restore(number, **how)


def _revision(number: int) -> PolicyRevision:
    row = PolicyRevision.objects.filter(pk=number).first() if number <= _MAX_NUMBER else None
    if row is None:
        raise Http404
    return row


def _rows(page: Page[PolicyRevision]) -> list[dict[str, Any]]:
    return [
        {
            "row": row,
            "counts": counts_shown(row.counts),
            "changes": [change_shown(change) for change in (row.changes or [])[:_CHANGES_IN_LIST]],
            "left_out": max(0, len(row.changes or []) - _CHANGES_IN_LIST),
        }
        for row in page
    ]
