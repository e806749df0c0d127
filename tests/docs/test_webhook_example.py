"""The example of the docs checks what the agent sends, and refuses what it did not."""

import re
from pathlib import Path

import pytest

from audit.event_kinds import EventKind
from audit.events.recording import Event, record_event
from tests.support.receiver import receiving, send_due
from webhooks import services
from webhooks.incidents import SINGLE

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "webhooks.md").read_text()


@pytest.fixture
def is_ours():
    """The function of the docs."""
    [code] = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    names = {}
    exec(code, names)  # noqa: S102 - the example is what is tested
    return names["is_ours"]


@pytest.mark.django_db
def test_the_example_takes_our_messages_and_no_others(is_ours):
    with receiving() as receiver:
        _, secret = services.create_webhook(actor="alice", name="pager", url=receiver.url, allow_private=True)
        record_event(Event(EventKind.CLIENT_SUSPECTED, client_ip="203.0.113.7"))
        send_due()

    [(_, headers, body)] = receiver.got
    assert is_ours(secret, headers, body)
    assert not is_ours(secret, headers, body + b" ")
    assert not is_ours(secret, {**headers, "webhook-id": "msg_other"}, body)
    assert not is_ours(secret, {**headers, "webhook-timestamp": str(int(headers["webhook-timestamp"]) - 1)}, body)
    assert not is_ours("whsec_" + "A" * 44, headers, body)
    assert not is_ours(secret, headers, body, seconds=-1)


def test_the_kinds_without_an_end_are_those_of_the_docs():
    part = TEXT.partition("has no end: ")[2].partition("\n\n")[0]

    assert set(re.findall(r"`([a-z.-]+)`", part)) == {kind.value for kind in SINGLE}
