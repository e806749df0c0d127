"""Base class of all API views."""

from typing import Any, ClassVar

from rest_framework import status
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gatewall.api.queries import refuse_ambiguous_query
from gatewall.api.rate import count_call
from gatewall.api.scopes import Area, ScopedAccess
from gatewall.api.serializers import StrictInput
from gatewall.kernel.refusals import Refusal
from gatewall.kernel.request_bodies import BODY_WAITS, MAX_BODY
from gatewall.policy import revisions


class _BodyWanted(Exception):
    """The caller is permitted, and the body was not read yet."""


class ApiView(APIView):
    """Reject ambiguous query strings and callers over the rate limit.

    A method outside of a ``Resource`` is declared by ``gatewall.api.operations.operation``.
    """

    is_rate_limited = True
    area: ClassVar[Area | None] = None
    """The scopes of API tokens for this view; None refuses API tokens."""
    user_parameter: ClassVar[str] = "user_id"
    """Parameter of the path with the id of the user that the view is about."""
    large_bodies: ClassVar[frozenset[str]] = frozenset()
    """Methods whose bodies may have ``MAX_LARGE_BODY`` bytes; the server reads them once the caller is permitted."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        revisions.expect_confirmation(None)
        refuse_ambiguous_query(request)
        super().initial(request, *args, **kwargs)
        if request.META.get(BODY_WAITS):
            raise _BodyWanted

    def handle_exception(self, exc: Exception) -> Response:
        """Return the response to an error; status 100 if the server must read the waiting body first."""
        return (
            Response(status=status.HTTP_100_CONTINUE) if isinstance(exc, _BodyWanted) else super().handle_exception(exc)
        )

    def perform_authentication(self, request: Request) -> None:
        """Authenticate the caller and count the call; an invalid credential counts for the client's network."""
        try:
            user = request.user
        except (APIException, Refusal):
            self._count(request, None)
            raise
        if not _was_counted(request):
            self._count(request, user.pk, _reach(request.auth))

    def body(self, kind: type[StrictInput]) -> dict[str, Any]:
        """Return the validated body of the request. Raises ValidationError."""
        form = kind(data=self.request.data)
        form.is_valid(raise_exception=True)
        return dict(form.validated_data)

    def _count(self, request: Request, user_id: int | None, reach: str = "") -> None:
        if self.is_rate_limited:
            count_call(request, user_id, reach=reach)


def _was_counted(request: Request) -> bool:
    """Return whether the call was counted already: with a large body, the server runs it with its head, then again."""
    is_large = int(request.META.get("CONTENT_LENGTH") or 0) > MAX_BODY  # a number: BodyLimit has checked it
    return is_large and request.META.get(BODY_WAITS) is False


def _reach(auth: Any) -> str:
    """Return the rate-limit key of calls with this credential: one per API token, sessions by their audiences."""
    if isinstance(auth, ScopedAccess):
        return f"token {auth.token_id}"
    return " ".join(sorted(getattr(auth, "audiences", ())))
