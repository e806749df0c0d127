"""API: passkeys of users."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404
from django.utils import timezone
from rest_framework import status
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import admin_session, browser, fresh_sign_in, selectors
from accounts import services as account_services
from accounts.authentication import session_token, signed_in_user
from accounts.models import Passkey, User
from accounts.passkeys import services
from accounts.passkeys.serializers import (
    PasskeyFilters,
    PasskeyInput,
    PasskeyOutput,
    RegisteredOutput,
    RegistrationInput,
)
from accounts.sign_in import passkey_browser
from accounts.sign_in.serializers import PasskeyOptionsOutput, ReauthenticationInput
from gatewall.api.caller import django_request
from gatewall.api.operations import operation
from gatewall.api.permissions import IsAdminOrSelf
from gatewall.api.resources import Resource
from gatewall.api.scopes import SESSION_ONLY, USERS
from gatewall.api.views import ApiView


class Passkeys(Resource):
    """Passkeys of a user, without their keys. Removing one requires a fresh sign-in."""

    nouns = ("a passkey", "the passkeys of a user")
    area = USERS
    input, output = PasskeyInput, PasskeyOutput
    permission_classes = [IsAdminOrSelf]
    volatile = ("last_used_at",)
    filterset_class = PasskeyFilters
    ordering_fields = ("id", "created_at", "name", "last_used_at")
    search_fields = ("name",)
    http_method_names = ["get", "head", "options", "put", "delete"]

    def get_queryset(self) -> QuerySet[Passkey]:
        user_id = int(self.kwargs["user_id"])
        if not User.objects.filter(pk=user_id).exists():
            raise Http404
        return selectors.passkeys_of(user_id).select_related("user")

    def change_row(self, row: Passkey, **values: Any) -> Passkey:
        return services.rename(row, values.get("name", row.name))

    def delete_row(self, row: Passkey) -> None:
        body = ReauthenticationInput(data=self.request.data or {})
        body.is_valid(raise_exception=True)
        sent = {name: body.validated_data.get(name) for name in ("password", "code")}
        fresh_sign_in.require(self.request, **sent)
        services.remove(row, actor=self.actor, client_ip=browser.visitor(self.request).client_ip)


class _RegistrationView(ApiView):
    """A step of the registration of a passkey, by its user."""

    area = SESSION_ONLY
    permission_classes = [IsAdminOrSelf]

    @property
    def user(self) -> User:
        """The caller, who is the user of the path. Raises PermissionDenied."""
        user = signed_in_user(self.request)
        if str(user.pk) != str(int(self.kwargs["user_id"])):
            raise PermissionDenied("a passkey is registered by its user, in their own browser")
        return user

    @property
    def session(self) -> str:
        """The id of the caller's session."""
        request = self.request
        return str(session_token(request)["jti"] if request.auth else admin_session.session_id(django_request(request)))


class PasskeyBegin(_RegistrationView):
    """Begin the registration of a passkey: options for ``navigator.credentials.create()``, valid for five minutes."""

    @operation(body=ReauthenticationInput, answer=PasskeyOptionsOutput, refuses=(401, 409))
    def post(self, request: Request, user_id: str) -> Response:
        body, user = self.body(ReauthenticationInput), self.user
        fresh_sign_in.require(request, password=body.get("password"), code=body.get("code"))
        page = passkey_browser.new_page(request)
        response = Response({"public_key": services.begin(user, page, self.session, at=timezone.now())})
        passkey_browser.bind(response, request, page)
        return response


class PasskeyFinish(_RegistrationView):
    """Register the passkey that the browser made; return the recovery codes, once, if it is the first second factor."""

    @operation(body=RegistrationInput, answer=RegisteredOutput, status=201, refuses=(401, 409))
    def post(self, request: Request, user_id: str) -> Response:
        body, user, visitor, at = self.body(RegistrationInput), self.user, browser.visitor(request), timezone.now()
        page = passkey_browser.page_of(request)
        registered = services.register(
            user, body["credential"], name=body["name"], page=page, session=self.session, visitor=visitor, at=at
        )
        shown = dict(PasskeyOutput(registered.passkey).data)
        if registered.recovery_codes:
            own = UUID(self.session) if request.auth else None
            account_services.end_sessions_besides(user, own, at=at)  # opened without the second factor
            shown = {**shown, "recovery_codes": registered.recovery_codes}
        location = f"{request.path.removesuffix('/register/finish')}/{registered.passkey.pk}"
        return Response(shown, status=status.HTTP_201_CREATED, headers={"Location": location})
