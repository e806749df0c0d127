"""The page of the proxy doctor: the current request, the findings of an examination, and the proxy's sample."""

import pytest

from gatewall.console.site import doctor_page
from gatewall.doctor import examination
from gatewall.doctor.probing.evidence import Evidence, Reply, Seen
from gatewall.doctor.probing.probes import PLAIN, Probe
from gatewall.doctor.probing.target import Target
from tests.unit.examined import evidence

DOCTOR = "/doctor/"


def page_of(browser, query="", **extra):
    response = browser.client.get(f"/wall/admin{DOCTOR}{query}", **extra)
    return response, response.content.decode()


def send(browser, **values):
    return browser.submit(DOCTOR, **values)


def test_only_admins_see_the_doctor(client, bob):
    assert client.get(f"/wall/admin{DOCTOR}").status_code == 302
    client.force_login(bob)
    assert client.get(f"/wall/admin{DOCTOR}").status_code == 302


def test_the_page_explains_the_current_request(pages):
    response, text = page_of(
        pages, REMOTE_ADDR="127.0.0.1", HTTP_X_FORWARDED_FOR="203.0.113.9, 198.51.100.7, 127.0.0.1"
    )

    assert response.status_code == 200
    assert response.context["arrived"].client == "198.51.100.7"
    assert "The first hop from the right that is not a trusted proxy." in text
    assert "is not a trusted proxy: all" not in text


def test_the_page_warns_of_an_untrusted_peer_with_forwarding_headers(pages):
    _, text = page_of(pages, REMOTE_ADDR="192.0.2.1", HTTP_X_FORWARDED_FOR="203.0.113.9")

    assert "The peer 192.0.2.1 sends forwarding headers, but is not a trusted proxy" in text
    assert "X-Forwarded-For is not read, so the peer is the client." in text


def test_untrusted_headers_are_escaped(pages):
    _, text = page_of(pages, REMOTE_ADDR="192.0.2.1", HTTP_X_FORWARDED_FOR="<script>alert(1)</script>")

    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)" in text


def test_the_form_is_prefilled_with_the_demo_if_called_directly(pages, office, settings):
    settings.GATEWALL_DEMO, settings.GATEWALL_PORT, settings.GATEWALL_DEMO_PORT = True, 9999, 8080
    for host, site in {"office.example:9999": "office.example:8080", "office.example": "office.example"}.items():
        assert page_of(pages, HTTP_HOST=host)[0].context["url"] == f"http://{site}/"
    settings.GATEWALL_DEMO = False
    assert page_of(pages, HTTP_HOST="office.example:9999")[0].context["url"] == "http://office.example:9999/"


@pytest.mark.parametrize("query", ["?proxy=iis", "?other=1", "?url=" + "a" * 3000])
def test_an_invalid_query_is_refused(pages, query):
    response, text = page_of(pages, query)

    assert response.status_code == 400
    assert "This proxy is unknown." in text


@pytest.mark.parametrize("kind", list(doctor_page.KINDS))
def test_the_sample_is_shown_with_our_addresses(pages, settings, kind):
    settings.GATEWALL_AUTH_PORT, settings.GATEWALL_PORT = 19998, 19999
    settings.GATEWALL_BIND = "127.0.0.1"

    response, text = page_of(pages, f"?proxy={kind}")

    assert response.status_code == 200
    assert f"deploy/{kind}/" in text
    if kind not in {"envoy-gateway", "ingress-nginx"}:  # their samples name services, not addresses
        assert "19998" in text
        assert "127.0.0.1:9998" not in text


@pytest.mark.parametrize(
    "url",
    ["http://elsewhere.example/", "file:///etc/passwd", "http://a:b@office.example/", "http://169.254.169.254/", "x"],
)
def test_an_unregistered_site_is_refused(pages, office, monkeypatch, url):
    monkeypatch.setattr(examination.sending, "send", lambda *_: pytest.fail("something was sent"))

    response = send(pages, url=url)

    assert response.status_code == 400
    assert 'role="alert"' in response.content.decode()


def test_a_proxy_that_is_not_listed_is_refused(pages, office, monkeypatch):
    monkeypatch.setattr(examination.sending, "send", lambda *_: pytest.fail("something was sent"))

    assert send(pages, url="http://office.example/", proxy="iis").status_code == 400


def test_the_report_shows_the_lines_that_fix_the_proxy(pages, office, monkeypatch):
    found = evidence(kind="nginx", forged_for="203.0.113.11")
    monkeypatch.setattr(doctor_page, "examine", lambda *_, **__: found)

    response = send(pages, url="http://office.example/", proxy="nginx")
    text = response.content.decode()

    assert response.status_code == 200
    assert "X-Forwarded-For from a visitor is trusted: the gate saw 203.0.113.11." in text
    assert "proxy_set_header X-Forwarded-For $remote_addr;" in text
    assert 'class="check wrong" open' in text


def test_a_mute_proxy_shows_one_finding(pages, office, monkeypatch):
    plain = Probe(PLAIN, "n", "/gatewall-doctor/n")
    mute = Evidence(Target.parse("http://office.example/"), {PLAIN: Seen(plain, Reply(200))}, "/wall", "caddy")
    monkeypatch.setattr(doctor_page, "examine", lambda *_, **__: mute)

    text = send(pages, url="http://office.example/", proxy="caddy").content.decode()

    assert "The answer was 200, but the proxy did not ask the gate" in text
    assert text.count("Not examined: the proxy must first be seen to ask the gate.") == 12


def test_only_one_examination_at_a_time(pages, office, settings, tmp_path, monkeypatch):
    monkeypatch.setattr(examination.sending, "send", lambda *_: pytest.fail("something was sent"))
    with examination._alone(examination.run_folder(settings.GATEWALL_HOME)):
        response = send(pages, url="http://office.example/")

    assert response.status_code == 409
    assert "another examination is running" in response.content.decode()
