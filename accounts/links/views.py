"""API: invitations and password resets."""

from typing import Any

from django.shortcuts import get_object_or_404
from django.utils import timezone
from rest_framework import status
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import browser, fresh_sign_in
from accounts.links import requests
from accounts.links.requests import Offer
from accounts.links.serializers import AskedOutput, AskResetInput, InvitationInput, OfferOutput, ResetLinkInput
from accounts.models import LinkPurpose, User
from gatewall.api.cross_site import refuse_cross_site
from gatewall.api.operations import operation
from gatewall.api.permissions import IsAdmin
from gatewall.api.scopes import USERS, ScopedAccess, SessionRequired
from gatewall.api.views import ApiView

SAME_FOR_ALL = "If the account exists and has an e-mail address, a link is on its way. It works for 30 minutes."


def offered(offer: Offer) -> dict[str, Any]:
    """Return the JSON of an offer."""
    shown = {"sent_to": offer.sent_to or None, "link": offer.link or None, "expires_at": offer.expires_at}
    return dict(OfferOutput(shown).data)


def refuse_rights_by_token(request: Request, user: User) -> None:
    """Raise SessionRequired if an API token would give access to an account with more rights: an admin or auditor."""
    if isinstance(request.auth, ScopedAccess) and (user.is_admin or user.is_auditor):
        raise SessionRequired("an API token gets no link to the account of an admin or auditor: sign in")


class _LinkView(ApiView):
    area = USERS
    permission_classes = [IsAdmin]
    purpose: LinkPurpose

    def _offer(self, request: Request, user_id: str, body: dict[str, Any], **options: bool) -> Response:
        user = get_object_or_404(User, pk=user_id)
        refuse_rights_by_token(request, user)
        fresh_sign_in.require(request, password=body.get("password"), code=body.get("code"))
        offer = requests.offer(
            user,
            self.purpose,
            actor=str(request.user),
            at=timezone.now(),
            origin=browser.origin(request),
            hand_over=body["hand_over"],
            **options,
        )
        return Response(offered(offer), status=status.HTTP_201_CREATED)


class Invitation(_LinkView):
    """Invite a user to set a password, and a name."""

    purpose = LinkPurpose.INVITATION

    @operation(body=InvitationInput, answer=OfferOutput, status=201, refuses=(409,))
    def post(self, request: Request, user_id: str) -> Response:
        body = self.body(InvitationInput)
        return self._offer(request, user_id, body, choose_username=body["choose_username"])


class ResetLink(_LinkView):
    """Give a user a link to set a new password."""

    purpose = LinkPurpose.PASSWORD_RESET

    @operation(body=ResetLinkInput, answer=OfferOutput, status=201, refuses=(409,))
    def post(self, request: Request, user_id: str) -> Response:
        return self._offer(request, user_id, self.body(ResetLinkInput))


class AskReset(ApiView):
    """Ask for a link to set a new password; the response is the same for every account."""

    authentication_classes: list[Any] = []
    permission_classes = [AllowAny]

    @operation(body=AskResetInput, answer=AskedOutput, status=202, refuses=(403, 409))
    def post(self, request: Request) -> Response:
        refuse_cross_site(request)
        body = self.body(AskResetInput)
        requests.ask_reset(body["account"], visitor=browser.visitor(request), at=timezone.now())
        return Response(AskedOutput({"message": SAME_FOR_ALL}).data, status=status.HTTP_202_ACCEPTED)
