"""The example of the docs accepts messages of the agent, and refuses others."""

import json
import os
import re
import sys
from pathlib import Path

import pytest

from audit.event_kinds import EventKind
from audit.events.recording import Event, record_event
from gatewall.install.ports import free_port
from tests.support.processes import is_listening, request, running, wait_until
from tests.support.receiver import receiving, send_due
from tests.support.upstream import Upstream
from webhooks import services
from webhooks.incidents import SINGLE

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "webhooks.md").read_text()


CODE = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture
def is_ours():
    """Return the verification function of the docs."""
    code = CODE[0]
    names = {}
    exec(code, names)  # noqa: S102 - the example is what is tested
    return names["is_ours"]


@pytest.mark.django_db
def test_the_example_accepts_only_our_messages(is_ours):
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


@pytest.mark.django_db
def test_the_documented_receiver_forwards_a_line_to_slack(tmp_path):
    for name, code in zip(("gatewall_webhook.py", "receiver.py"), CODE, strict=True):
        (tmp_path / name).write_text(code)
    port = free_port()
    url = f"http://127.0.0.1:{port}/"
    made, secret = services.create_webhook(actor="alice", name="slack", url=url, allow_private=True)
    with Upstream() as slack:
        ours = {**os.environ, "PORT": str(port), "SECRET": secret, "SLACK_URL": f"http://127.0.0.1:{slack.port}/"}
        with running([sys.executable, str(tmp_path / "receiver.py")], log=tmp_path / "log", env=ours):
            wait_until(lambda: is_listening(port), what="the receiver")
            record_event(Event(EventKind.CLIENT_SUSPECTED, client_ip="203.0.113.7"))
            services.send_test(made, actor="alice")
            send_due()
            forged = request(port, "/", method="POST", body="{}", headers={"webhook-id": "x", "webhook-timestamp": "1"})

    lines = [json.loads(body)["text"].partition(" {")[0] for body in slack.bodies]
    assert sorted(lines) == ["client.suspected: 203.0.113.7", "webhook.test: None None"]
    assert forged.status == 403
    assert {each.status for each in made.deliveries.all()} == {"delivered"}


def test_documented_kinds_without_an_end_are_those_of_the_code():
    part = TEXT.partition("without an end: ")[2].partition("\n\n")[0]

    assert set(re.findall(r"`([a-z.-]+)`", part)) == {kind.value for kind in SINGLE}
