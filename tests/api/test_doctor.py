"""``POST /system/doctor``: permitted targets, and the fields of the report."""

import pytest

from gatewall.doctor import examination
from gatewall.doctor.probing.evidence import Reply


@pytest.fixture
def sent(monkeypatch):
    """Return the probes that are sent; each is answered with 200 by a site that never asks the gate."""
    probes = []

    def send(_target, probe, *_):
        probes.append(probe)
        return Reply(200, {"server": "nginx"}, "127.0.0.1")

    monkeypatch.setattr(examination.sending, "send", send)
    monkeypatch.setattr(examination, "RECORD_SECONDS", 0.0)
    return probes


def test_a_mute_proxy_is_reported(admin, office, sent):
    response = admin.post("/system/doctor", {"url": "https://office.example/", "proxy": "caddy", "self_signed": True})

    body = response.json()
    assert response.status_code == 200
    assert (body["verdict"], body["proxy"], body["url"]) == ("wrong", "caddy", "https://office.example/")
    assert [check["id"] for check in body["checks"] if check["verdict"] == "wrong"] == ["asked"]
    assert body["checks"][0]["findings"][0]["code"] == "walked-around"
    assert len(sent) == len(body["probes"]) == 1


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"url": "http://elsewhere.example/"}, "target-refused"),
        ({"url": "http://169.254.169.254/latest"}, "target-refused"),
        ({"url": "gopher://office.example/"}, "target-refused"),
        ({"url": "http://office.example/?q"}, "target-refused"),
        ({}, "invalid"),
        ({"url": ""}, "invalid"),
        ({"url": 1}, "invalid"),
        ({"url": "http://office.example/", "proxy": "iis"}, "invalid"),
        ({"url": "http://office.example/", "self_signed": "yes"}, "invalid"),
        ({"url": "http://office.example/", "connect": "127.0.0.1:22"}, "invalid"),
        ({"url": "http://office.example/", "upstream": "127.0.0.1"}, "target-refused"),
        ({"url": "http://office.example/", "upstream": "no host:1"}, "target-refused"),
        ({"url": "http://office.example/", "upstream": 8000}, "invalid"),
        ({"url": "http://elsewhere.example/", "upstream": "127.0.0.1:8000"}, "target-refused"),
    ],
)
def test_a_forbidden_target_is_refused_and_gets_no_request(admin, office, sent, body, code):
    response = admin.post("/system/doctor", body)

    assert (response.status_code, response.json()["code"]) == (400, code)
    assert sent == []


def test_only_one_examination_runs_at_a_time(admin, office, sent, settings):
    with examination._alone(examination.run_folder(settings.GATEWALL_HOME)):
        response = admin.post("/system/doctor", {"url": "http://office.example/"})

    assert (response.status_code, response.json()["code"]) == (409, "doctor-busy")
    assert sent == []
