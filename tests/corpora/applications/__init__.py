"""Requests of self-hosted applications with their bodies: ``python -m tests.corpora.applications FOLDER``.

The shapes are those of the applications' public API documentation, clients and test suites; the contents are what people
write: titles, notes, pages and source code of this project and sentences in sixty languages. The same seed gives the
same requests; none was chosen or left out because of the rules.
"""

import random
from typing import Any

from tests.corpora.applications import dav, documents, media, services
from tests.corpora.applications.content import Content
from tests.corpora.applications.wire import Sent, Shape

PER_APPLICATION = 100
APPLICATIONS: dict[str, tuple[Shape, ...]] = {
    **dav.APPLICATIONS,
    **documents.APPLICATIONS,
    **media.APPLICATIONS,
    **services.APPLICATIONS,
}
"""Shapes of requests by application; each is sent equally often."""


def requests() -> list[dict[str, Any]]:
    """Return the requests of all applications as lines of ``gatewall waf rates``."""
    found = []
    for application, shapes in APPLICATIONS.items():
        content = Content(random.Random(application))  # noqa: S311 - the same requests each time
        found += [_line(application, each, shapes[each % len(shapes)](content)) for each in range(PER_APPLICATION)]
    return found


def _line(application: str, number: int, sent: Sent) -> dict[str, Any]:
    return {
        "id": f"{application}/{number}",
        "source": "own/applications",
        "label": "benign",
        "category": application,
        "visible": "body" if sent.body else "uri",
        "method": sent.method,
        "uri": sent.uri,
        "headers": {"Host": "cloud.example", "User-Agent": sent.agent, **sent.headers},
        "body": sent.body.decode("latin-1") or None,
        "meta": {"application": application},
    }
