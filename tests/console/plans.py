"""Plans that an operator makes on a page."""

import html

from django.utils import timezone

from gatewall.whatif.backtest import running, runs
from tests.admin.conftest import ADMIN

PLANS = "/plan/"


def plan(pages, document, **values):
    return pages.submit(PLANS, document=document, **values)


def planned(pages, document, **values):
    answer = plan(pages, document, **values)
    assert answer.status_code == 302, html.unescape(answer.content.decode())
    return answer.url.removeprefix(ADMIN)


def finish():
    queued = runs.claim_next(timezone.now())
    assert queued is not None
    assert running.run(queued)
