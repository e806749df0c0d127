"""A site of Django that answers with the values that it reads in a request: what the framing of a body hides or shows."""

import io
import json
from collections.abc import Callable, Iterable
from typing import Any

import django
from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest

if not settings.configured:
    settings.configure(ALLOWED_HOSTS=["*"], DEFAULT_CHARSET="utf-8")
    django.setup()


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer with the form, as gunicorn and uvicorn call it."""
    body = environ["wsgi.input"].read()  # the server knows where it ends, and Django wants its length
    request = WSGIRequest(environ | {"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))})
    text = json.dumps(dict(request.POST.lists())).encode()
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(text)))])
    return [text]
