"""Users and sign-in over HTTP: parse, one call, answer."""

import uuid
from datetime import UTC, datetime
from typing import Any

from django.db.models import Model, QuerySet
from django.utils import timezone
from rest_framework import status
from rest_framework.permissions import AllowAny, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import browser, login, selectors, services
from accounts.authentication import SessionTokenAuthentication
from accounts.filters import UserFilters
from accounts.models import User
from accounts.serializers import (
    LoginInput,
    OwnSessionOutput,
    SignedInOutput,
    UserInput,
    UserOutput,
    moment,
    signed_in,
    who,
)
from accounts.tokens import API, GATE, SessionToken
from gatewall.api.cross_site import refuse_cross_site
from gatewall.api.operations import operation
from gatewall.api.permissions import IsAdmin, IsAdminOrSelf
from gatewall.api.resources import Resource
from gatewall.api.views import ApiView


class Users(Resource):
    """People who sign in. Anybody may look at himself."""

    input, output = UserInput, UserOutput
    volatile = ("last_login_at", "session_count")
    filterset_class = UserFilters
    ordering_fields = ("id", "created_at", "username", "last_login_at")
    search_fields = ("username", "email", "remark")

    def get_permissions(self) -> list[Any]:
        return [IsAdminOrSelf()] if self.action == "retrieve" else [IsAdmin()]

    def get_queryset(self) -> QuerySet[User]:
        return selectors.users(timezone.now())

    def create_row(self, **values: Any) -> Model:
        return services.create_user(actor=self.actor, **values)

    def change_row(self, row: User, **values: Any) -> User:
        return services.change_user(row, **values)

    def delete_row(self, row: User) -> None:
        services.delete_user(row)


class Login(ApiView):
    """Sign in with a name and a password."""

    authentication_classes: list[Any] = []
    permission_classes = [AllowAny]
    admins_only = False

    @operation(body=LoginInput, answer=SignedInOutput, refuses=(401, 403))
    def post(self, request: Request) -> Response:
        refuse_cross_site(request)
        form = LoginInput(data=request.data)
        form.is_valid(raise_exception=True)
        result = login.sign_in(
            **form.validated_data,
            audiences=(GATE, API),
            visitor=browser.visitor(request),
            at=timezone.now(),
            admins_only=self.admins_only,
        )
        response = Response(signed_in(result))
        browser.set_session(response, request, result.token.text, expires_at=result.token.expires_at)
        return response


class OwnSession(ApiView):
    """The session that the caller's token stands for."""

    authentication_classes = [SessionTokenAuthentication]
    permission_classes = [IsAuthenticated]

    @operation(answer=OwnSessionOutput)
    def get(self, request: Request) -> Response:
        token: SessionToken = request.auth
        expires_at = datetime.fromtimestamp(token["exp"], tz=UTC)
        return Response({"user": who(request.user), "expires_at": moment(expires_at), "amr": token["amr"]})


class Logout(ApiView):
    """End the session that the caller's token stands for."""

    authentication_classes = [SessionTokenAuthentication]
    permission_classes = [IsAuthenticated]

    @operation()
    def post(self, request: Request) -> Response:
        services.revoke_session(uuid.UUID(request.auth["jti"]), at=timezone.now())
        response = Response(status=status.HTTP_204_NO_CONTENT)
        browser.clear_session(response)
        return response
