"""API: sign in and out."""

import uuid
from datetime import UTC, datetime
from typing import Any

from django.utils import timezone
from rest_framework import status
from rest_framework.permissions import AllowAny, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import browser, services
from accounts.authentication import SessionTokenAuthentication, session_token, signed_in_user
from accounts.sign_in import events, login, passkey_browser, recovery
from accounts.sign_in.challenges import Challenged
from accounts.sign_in.login import LOGIN, Flow, SignedIn
from accounts.sign_in.serializers import (
    ChallengedOutput,
    LoginInput,
    OwnSessionOutput,
    PasskeyBeginInput,
    PasskeyFinishInput,
    PasskeyOptionsOutput,
    RecoveryInput,
    SecondFactorInput,
    SignedInOutput,
    challenged,
    signed_in,
)
from gatewall.api.cross_site import refuse_cross_site
from gatewall.api.operations import operation
from gatewall.api.views import ApiView
from gatewall.kernel.refusals import Forbidden
from gatewall.policy import system_settings


class RecoveryLocalOnly(Forbidden):
    """Recovery is allowed only from this machine."""

    code = "recovery-local-only"


class _SignInView(ApiView):
    """A view for visitors who are not signed in."""

    authentication_classes: list[Any] = []
    permission_classes = [AllowAny]
    flow: Flow = LOGIN

    def initial(self, request: Request, *args: Any, **path: Any) -> None:
        super().initial(request, *args, **path)
        refuse_cross_site(request)

    def _signed_in(self, request: Request, result: SignedIn) -> Response:
        response = Response(signed_in(result))
        browser.set_session(response, request, result.token.text, expires_at=result.token.expires_at)
        browser.remember(response, request, result.user.pk)
        return response


class Login(_SignInView):
    """Sign in with username and password; return a challenge token if the account has a second factor."""

    @operation(body=LoginInput, answer=(SignedInOutput, ChallengedOutput), refuses=(401, 403))
    def post(self, request: Request) -> Response:
        body, visitor = self.body(LoginInput), browser.visitor(request)
        result = login.sign_in(**body, flow=self.flow, visitor=visitor, at=timezone.now())
        return Response(challenged(result)) if isinstance(result, Challenged) else self._signed_in(request, result)


class LoginSecondFactor(_SignInView):
    """Complete a sign-in with a code of the authenticator app, or a recovery code."""

    @operation(body=SecondFactorInput, answer=SignedInOutput, refuses=(401, 403))
    def post(self, request: Request) -> Response:
        body, visitor = self.body(SecondFactorInput), browser.visitor(request)
        token, code = body["challenge_token"], body["code"]
        result = login.finish_sign_in(token, code, flow=self.flow, visitor=visitor, at=timezone.now())
        return self._signed_in(request, result)


class LoginPasskeyBegin(_SignInView):
    """Begin a sign-in with a passkey, or the second factor of a challenge: options for ``navigator.credentials.get()``.

    The browser must send the cookie of this response with ``finish``, within five minutes.
    """

    @operation(body=PasskeyBeginInput, answer=PasskeyOptionsOutput, refuses=(401,))
    def post(self, request: Request) -> Response:
        token, page = self.body(PasskeyBeginInput).get("challenge_token", ""), passkey_browser.new_page(request)
        options = login.begin_passkey(token, page, flow=self.flow, at=timezone.now())
        response = Response({"public_key": options})
        passkey_browser.bind(response, request, page)
        return response


class LoginPasskeyFinish(_SignInView):
    """Complete a sign-in with a passkey, which needs neither a user name nor a second factor."""

    @operation(body=PasskeyFinishInput, answer=SignedInOutput, refuses=(401, 403))
    def post(self, request: Request) -> Response:
        body, page, visitor = self.body(PasskeyFinishInput), passkey_browser.page_of(request), browser.visitor(request)
        answer, token = body["credential"], body.get("challenge_token", "")
        result = login.sign_in_with_passkey(answer, token, page, flow=self.flow, visitor=visitor, at=timezone.now())
        return self._signed_in(request, result)


class RecoverSecondFactor(_SignInView):
    """Remove the lost second factor of an admin, with the recovery key of the installation."""

    @operation(body=RecoveryInput, refuses=(403,))
    def post(self, request: Request) -> Response:
        if system_settings.current().recovery_local_only and not browser.is_at_this_machine(request):
            client_ip = browser.visitor(request).client_ip
            events.recovery_refused("", client_ip, timezone.now(), why=RecoveryLocalOnly.code)
            raise RecoveryLocalOnly("recovery is allowed only from this machine (recovery_local_only)")
        recovery.recover(**self.body(RecoveryInput), visitor=browser.visitor(request), at=timezone.now())
        return Response(status=status.HTTP_204_NO_CONTENT)


class OwnSession(ApiView):
    """The session of the caller's token."""

    authentication_classes = [SessionTokenAuthentication]
    permission_classes = [IsAuthenticated]

    @operation(answer=OwnSessionOutput)
    def get(self, request: Request) -> Response:
        token = session_token(request)
        expires_at = datetime.fromtimestamp(token["exp"], tz=UTC)
        own = {"user": signed_in_user(request), "expires_at": expires_at, "amr": token["amr"]}
        return Response(OwnSessionOutput(own).data)


class Logout(ApiView):
    """End the session of the caller's token."""

    authentication_classes = [SessionTokenAuthentication]
    permission_classes = [IsAuthenticated]

    @operation()
    def post(self, request: Request) -> Response:
        services.revoke_session(uuid.UUID(session_token(request)["jti"]), at=timezone.now())
        response = Response(status=status.HTTP_204_NO_CONTENT)
        browser.clear_session(response, request)
        return response
