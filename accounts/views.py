"""API: users and their own accounts."""

import secrets
import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils import timezone
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import admin_session, browser, fresh_sign_in, selectors, services
from accounts.authentication import session_token
from accounts.links import requests
from accounts.links.views import offered
from accounts.models import LinkPurpose, Session, User
from accounts.serializers import (
    InvitedOutput,
    PasswordInput,
    SessionFilters,
    SessionOutput,
    UserFilters,
    UserInput,
    UserOutput,
)
from accounts.sign_in import code_entry, login, reauthentication, second_factor, totp, totp_codes
from accounts.sign_in.serializers import (
    ConfirmInput,
    ReauthenticationInput,
    RecoveryCodesOutput,
    SignedInOutput,
    TotpSetupInput,
    TotpSetupOutput,
    signed_in,
)
from accounts.token_removal import kinds_to_revoke
from accounts.visitor import Visitor
from gatewall.api.caller import django_request
from gatewall.api.operations import operation
from gatewall.api.permissions import IsAdmin, IsAdminOrSelf
from gatewall.api.resources import Resource
from gatewall.api.scopes import USERS, ScopedAccess, SessionRequired
from gatewall.api.views import ApiView


class Users(Resource):
    """Users.

    A user who is not an admin may read only their own account.
    """

    nouns = ("a user", "users")
    area = USERS
    input, output, output_on_create = UserInput, UserOutput, InvitedOutput
    invitation: dict[str, Any] | None = None
    """The invitation of the user who was created by this call."""
    user_parameter = "pk"
    volatile = ("last_login_at", "session_count", "code_entry_locked", "invitation")
    filterset_class = UserFilters
    ordering_fields = ("id", "created_at", "username", "last_login_at")
    search_fields = ("username", "email", "remark")

    def get_permissions(self) -> list[Any]:
        return [IsAdminOrSelf()] if self.action == "retrieve" else [IsAdmin()]

    def get_queryset(self) -> QuerySet[User]:
        return selectors.users(timezone.now())

    def create_row(self, **values: Any) -> Model:
        self._refuse_rights_by_token(values)
        self._reauthenticate(values, is_new=True)
        is_invited = values.pop("invite", False)
        if is_invited:
            values["password"] = secrets.token_urlsafe(32)  # random, so that nobody knows it
        with transaction.atomic():
            user = services.create_user(actor=self.actor, **values)
            if is_invited:
                self.invitation = self._invite(user)
        return user

    def created(self, row: Model) -> dict[str, Any]:
        return super().created(row) | ({"invitation": self.invitation} if self.invitation else {})

    def _invite(self, user: User) -> dict[str, Any]:
        origin = browser.origin(self.request)
        purpose, at = LinkPurpose.INVITATION, timezone.now()
        return offered(requests.offer(user, purpose, actor=self.actor, at=at, origin=origin, choose_username=True))

    def change_row(self, row: User, **values: Any) -> User:
        self._refuse_rights_by_token(values)
        if "password" in values and row.pk == self.request.user.pk:
            # Otherwise a stolen session could set a password and sign in with it.
            raise reauthentication.ReauthenticationRequired("change your own password with PUT /users/:id/password")
        self._reauthenticate(values)
        return services.change_user(row, actor=self.actor, client_ip=browser.visitor(self.request).client_ip, **values)

    def delete_row(self, row: User) -> None:
        services.delete_user(row, actor=self.actor)

    def _reauthenticate(self, values: dict[str, Any], *, is_new: bool = False) -> None:
        """Re-authenticate callers who give somebody a password or rights: these outlive a stolen session.

        Removes the caller's own password and code from the values. Raises a Refusal.
        """
        password, code = values.pop("current_password", None), values.pop("code", None)
        if is_new or fresh_sign_in.gives_access(values):
            fresh_sign_in.require(self.request, password=password, code=code)

    def _refuse_rights_by_token(self, values: Mapping[str, Any]) -> None:
        """Raise SessionRequired if an API token would make an admin or auditor, who may do more than the token."""
        if isinstance(self.request.auth, ScopedAccess) and (values.get("is_admin") or values.get("is_auditor")):
            raise SessionRequired("an API token may not make an admin or auditor: sign in")


class _UserView(ApiView):
    """A view of one user's data, for admins and that user."""

    area = USERS
    permission_classes = [IsAdminOrSelf]

    @property
    def user(self) -> User:
        """The user of the path. Raises Http404."""
        return get_object_or_404(User, pk=self.kwargs["user_id"])

    @property
    def is_own(self) -> bool:
        return int(self.kwargs["user_id"]) == self.request.user.pk

    def require_fresh(self, body: Mapping[str, Any]) -> None:
        """Re-authenticate the caller by their own password or a code, as far as the body has them. Raises a Refusal.

        A fresh sign-in needs neither.
        """
        fresh_sign_in.require(self.request, password=body.get("password"), code=body.get("code"))


class TotpSetup(_UserView):
    """Create a TOTP secret and its QR code, to be confirmed by a code. Another app needs a ``name``."""

    @operation(body=TotpSetupInput, answer=TotpSetupOutput, refuses=(409,))
    def post(self, request: Request, user_id: str) -> Response:
        body, user = self.body(TotpSetupInput), self.user
        self.require_fresh(body)
        setup = totp.begin_setup(user, name=body.get("name", ""), at=timezone.now())
        uri = setup.otpauth_uri
        code = totp_codes.qr_code(uri)
        images = {"qr_code": totp_codes.qr_png(code), "qr_svg": totp_codes.qr_svg(code)}
        return Response({"secret": setup.secret, "otpauth_uri": uri, **images})


class TotpConfirm(_UserView):
    """Confirm an app by its first code; the first one enables the second factor and returns recovery codes, once."""

    @operation(body=ConfirmInput, answer=RecoveryCodesOutput, refuses=(409,))
    def post(self, request: Request, user_id: str) -> Response:
        body, visitor = self.body(ConfirmInput), browser.visitor(request)
        user, at = self.user, timezone.now()
        codes = reauthentication.confirm_second_factor(user, body["code"], visitor=visitor, at=at)
        if codes:
            own = uuid.UUID(session_token(request)["jti"]) if self.is_own and request.auth else None
            services.end_sessions_besides(user, own, at=at)  # those sessions were opened without the second factor
        return Response({"recovery_codes": codes})


class Totp(_UserView):
    """Remove all authenticator apps."""

    http_method_names = ["delete", "options"]

    @operation(body=ReauthenticationInput)
    def delete(self, request: Request, user_id: str) -> Response:
        body, user, visitor = self.body(ReauthenticationInput), self.user, browser.visitor(request)
        self.require_fresh(body)
        second_factor.switch_off_app(user, actor=str(request.user), client_ip=visitor.client_ip)
        return Response(status=status.HTTP_204_NO_CONTENT)


class TotpDisable(Totp):
    """Remove all authenticator apps by POST, for proxies that drop the body of a DELETE."""

    http_method_names = ["post", "options"]

    @operation(body=ReauthenticationInput)
    def post(self, request: Request, user_id: str) -> Response:
        return self.delete(request, user_id)


class TotpUnlock(_UserView):
    """Accept codes again after too many wrong ones; the second factor is unchanged."""

    permission_classes = [IsAdmin]

    @operation(body=ReauthenticationInput)
    def post(self, request: Request, user_id: str) -> Response:
        body, user = self.body(ReauthenticationInput), self.user
        self.require_fresh(body)
        code_entry.unlock(user, actor=str(request.user), client_ip=browser.visitor(request).client_ip)
        return Response(status=status.HTTP_204_NO_CONTENT)


def _encoded(new_password: str) -> services.EncodedPassword:
    """Return the hash of a new password. Raises ValidationError of the field that was sent."""
    try:
        return services.encode_password(new_password)
    except ValidationError as error:
        raise ValidationError({"new_password": error.error_dict["password"]}) from None


class Password(_UserView):
    """Change a password; end all sessions of the user, and return a new one to the owner.

    Owners with a second factor send a code too, unless they signed in with it within the last ten minutes.

    Tokens are kept unless ``revoke_git_tokens``, ``revoke_app_tokens`` or ``revoke_api_tokens`` is true.
    """

    @operation(body=PasswordInput, answer=(SignedInOutput, UserOutput))
    def put(self, request: Request, user_id: str) -> Response:
        body, user = self.body(PasswordInput), self.user
        visitor, now = browser.visitor(request), timezone.now()
        sent = {"password": body.get("current_password"), "code": body.get("code")}
        if self.is_own:
            sign_in = fresh_sign_in.sign_in_of(request)
            reauthentication.require_own_password(user, sign_in, **sent, visitor=visitor, at=now)
        else:
            fresh_sign_in.require(request, **sent)
        changed: dict[str, Any] = {"password": _encoded(body["new_password"]), "revoke_tokens": kinds_to_revoke(body)}
        user = services.change_user(user, actor=str(request.user), client_ip=visitor.client_ip, **changed)
        if not self.is_own:
            return Response(UserOutput(selectors.users(now).get(pk=user.pk)).data)
        return self._keep_signed_in(request, user, visitor, now)

    def _keep_signed_in(self, request: Request, user: User, visitor: Visitor, now: datetime) -> Response:
        if request.auth is None:
            row = admin_session.keep_signed_in(django_request(request), user, visitor=visitor, at=now)
            audiences, amr = login.LOGIN.audiences, tuple(row.amr)
        else:
            own = session_token(request)
            audiences, amr = tuple(sorted(own.audiences)), tuple(own["amr"])
        token = login.start_session(user, audiences=audiences, amr=amr, visitor=visitor, at=now)
        response = Response(signed_in(login.SignedIn(user, token, amr)))
        browser.set_session(response, request, token.text, expires_at=token.expires_at)
        return response


class Sessions(Resource):
    """Live sessions of a user; deleting one ends it."""

    nouns = ("a session", "the sessions of a user")
    area = USERS
    permission_classes = [IsAdminOrSelf]
    output = SessionOutput
    filterset_class = SessionFilters
    ordering_fields = ("issued_at", "expires_at")
    lookup_field = "jti"
    lookup_value_regex = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    http_method_names = ["get", "head", "options", "delete"]

    def get_queryset(self) -> QuerySet[Session]:
        if not User.objects.filter(pk=self.kwargs["user_id"]).exists():
            raise Http404
        return selectors.live_sessions(int(self.kwargs["user_id"]), timezone.now())

    def get_serializer_context(self) -> dict[str, Any]:
        request = self.request
        return {**super().get_serializer_context(), "current_jti": self._current_jti(request)}

    @staticmethod
    def _current_jti(request: Request) -> str:
        """Return the id of the caller's session, or "" for a call with an API token."""
        if isinstance(request.auth, ScopedAccess):
            return ""
        return str(session_token(request)["jti"] if request.auth else admin_session.session_id(django_request(request)))

    def delete_row(self, row: Session) -> None:
        services.revoke_session(row.pk, at=timezone.now())
