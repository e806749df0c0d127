"""Canary secrets in every possible input: none appears in the database, the spool, a log or an answer.

The tests drive the gate of both planes in every dialect, every route and method of the API, the pages of
visitors and of the Django admin, with valid, wrong and broken input. Then they search all stored data.
"""

import json
import logging
from base64 import b64encode
from importlib import import_module

import pytest
from django.test import Client

from audit.models import AccessLog
from audit.storage import ingest
from tests.api.routes import ROUTES, path_of
from tests.support.canaries import found_in, spellings_of, whole_database, whole_folder
from tests.support.cast import base64url
from tests.support.dialects import DIALECTS
from tests.support.proxies import PASSWORD, Api, a_git_token, a_license, a_token, an_app_token, enter_admin_site
from tests.support.second_factor import an_app

pytestmark = pytest.mark.django_db
FORM = "application/x-www-form-urlencoded"
CANARIES = {
    "wrong password": "Canary-wrong-password-7Hq",
    "new password": "Canary-new-password-8Jw",
    "password typed as a name": "canary typed as a name 9Kz",
    "recovery key": "canary-recovery-key-3Rt-long-enough",
    "query": "canary-query-5Lp",
    "nested query": "canary-nested-6Mn",
    "user info": "canary-user-info-1Xc",
    "bearer": "canary-bearer-of-the-site-2Vb",
    "cookie": "canary-cookie-of-the-site-4Nm",
    "referer": "canary-referer-8Qa",
    "body": "canary-body-0Ws",
    "header": "canary-api-key-of-the-site-5Ed",
}
SHOWN_ONCE = {
    *(("git-tokens-list", "POST"), ("app-tokens-list", "POST"), ("licenses-list", "POST")),
    ("share-links-list", "POST"),
    *(("totp-setup", "POST"), ("totp-confirm", "POST")),
}


@pytest.fixture
def app(alice, settings):
    settings.GATEWALL_ADMIN_RECOVERY_KEY = CANARIES["recovery key"]
    return an_app(alice)


@pytest.fixture
def secrets(app, alice, bob, settings):
    """Return every secret of an installation by its kind."""
    config = settings.CONFIG
    return CANARIES | {
        "password": PASSWORD,
        "secret key": settings.SECRET_KEY,
        "signing key": config.jwt_keys.signing.secret,
        "data key": config.data_keys.signing.secret,
        "signing key as written": base64url(config.jwt_keys.signing.secret),
        "data key as written": base64url(config.data_keys.signing.secret),
        "totp secret": app.secret,
        **{f"recovery code {number}": code for number, code in enumerate(app.recovery_codes)},
        "session of Alice": a_token(alice),
        "session of Bob": a_token(bob),
        "git token": a_git_token(bob),
        "app token": an_app_token(bob),
        "license": a_license(),
    }


@pytest.fixture
def planes(new_plane):
    """Return both planes, started before the test: Django's logging setup removes the handlers of pytest."""
    return [new_plane("control"), new_plane("data")]


def targets(secrets):
    """Return request targets that contain secrets."""
    token, license_token, session = secrets["git token"], secrets["license"], secrets["session of Bob"]
    app = secrets["app token"]
    nested = f"https%3A%2F%2Foffice.example%2F%3Ftoken%3D{secrets['nested query']}"
    return [
        f"/?token={secrets['query']}&Pass%57ord={secrets['query']}&user[api-key]={secrets['query']}",
        f"/?rd={nested}&x=1;sessionid={secrets['query']}",
        f"/?harmless={token}&other={session}&third={license_token.replace('_', '%5F')}",
        f"/?next=https://bob:{secrets['user info']}@office.example/",
        f"/clone/{token}/info/refs?service=git-upload-pack",
        f"/a;jsessionid={secrets['query']}/{session}",
        f"/proxy/https://bob:{secrets['user info']}@office.example/{license_token}",
        f"/%67wg_{token[4:]}/x?%2567wl_{license_token[4:]}",
        f"/?q=attack&password={secrets['query']}",
        f"/web/Download?id=7&harmless={app}&%67wp_{app[4:]}=1",
        f"/dav/{app}/a;x={app}/%2567wp_{app[4:]}",
    ]


def headers(secrets):
    """Return headers of a visitor: our credentials, valid and invalid, and those of the site."""
    basic = b64encode(f"Bob:{secrets['git token']}".encode()).decode()
    of_an_app, app = b64encode(f"Bob:{secrets['app token']}".encode()).decode(), secrets["app token"]
    site = b64encode(f"bob:{secrets['wrong password']}".encode()).decode()
    more = (
        ("Referer", f"https://office.example/?token={secrets['referer']}"),
        ("X-Api-Key", secrets["header"]),
        ("User-Agent", f"git {secrets['git token']} https://bob:{secrets['user info']}@office.example/"),
    )
    return [
        (("Authorization", f"Bearer {secrets['bearer']}"), ("Cookie", f"site={secrets['cookie']}"), *more),
        (("Service-Authorization", secrets["session of Bob"]), *more),
        (("Service-Authorization", f"Bearer {secrets['session of Bob']}x"), *more),
        (("Cookie", f"site={secrets['cookie']}; service.token={secrets['session of Alice']}"), *more),
        (("Service-Git-Token", f"Bob:{secrets['git token']}"), *more),
        (("Service-Git-Token", f"nobody:{secrets['git token']}"), *more),
        (("Authorization", f"Basic {basic}"), *more),
        (("Authorization", f"Basic {site}"), *more),
        (("Service-License", secrets["license"]), *more),
        (("Authorization", f"Basic {of_an_app}"), *more),
        (("Authorization", f"Bearer {app}"), *more),
        (("X-Emby-Token", app), ("Referer", f"https://office.example/{app}"), ("User-Agent", f"player/1 {app}")),
    ]


def drive_gate(planes, secrets):
    asked = 0
    for tell in DIALECTS.values():
        for number, uri in enumerate(targets(secrets)):
            for lines in headers(secrets)[number % 3 :: 3]:
                planes[asked % len(planes)](tell(uri=uri).plus(*lines))
                asked += 1
        for host in (f"{secrets['git token']}.example", f"bob:{secrets['user info']}@office.example"):
            planes[asked % len(planes)](tell(host=host))
            planes[(asked + 1) % len(planes)](tell(host=host))
            asked += 1
    return asked


def body_of(secrets, app):
    return {
        "username": secrets["password typed as a name"],
        "password": secrets["wrong password"],
        "current_password": secrets["wrong password"],
        "new_password": secrets["new password"],
        "recovery_key": secrets["recovery key"],
        "challenge_token": secrets["session of Bob"],
        "code": app.recovery_codes[0],
        "token": secrets["git token"],
        "secret": secrets["body"],
    }


def drive_api(secrets, app, alice):
    """Call every route and method of the API as an admin, anonymously and with invalid bodies; return the answers."""
    body = body_of(secrets, app)
    query = f"?token={secrets['query']}&license={secrets['license']}"
    texts = []
    callers = [Api(secrets["session of Alice"]), Api(secrets["license"]), Api(cookie=secrets["session of Bob"])]
    for name, verb in ROUTES:
        for caller in callers:
            if name in {"logout", "policy-revisions-restore"} or (name, verb) == ("users-detail", "DELETE"):
                continue
            path = path_of(name, alice.pk)
            raw = json.dumps(body).encode() if verb in {"POST", "PUT"} else b""
            for tail, sent in ((query, raw), ("", raw), ("", raw[:-3]))[: 3 if caller is callers[0] else 1]:
                response = caller.send(verb, path + tail, sent)
                texts += [] if (name, verb) in SHOWN_ONCE and response.status_code < 300 else [response]
    return "\n".join(_text(response) for response in texts)


def _text(response):
    content = b"" if response.streaming else response.content
    shown = {name: value for name, value in response.headers.items() if name != "Set-Cookie"}
    return f"{response.status_code} {shown} {content.decode()}"


def drive_doors(secrets, app, user):
    """Sign in, rightly and wrongly, over the API, the guard page and the Django admin; return the issued tokens."""
    api, browser, tokens = Api(), Client(), {}
    wrong, typed = secrets["wrong password"], secrets["password typed as a name"]
    for number, path in enumerate(("/login", "/admin-login")):
        api.post(path, {"username": "alice", "password": wrong})
        api.post(path, {"username": typed, "password": wrong})
        challenge = api.post(path, {"username": "alice", "password": PASSWORD}).json()["challenge_token"]
        api.post(f"{path}/2fa", {"challenge_token": challenge, "code": app.wrong})
        done = api.post(f"{path}/2fa", {"challenge_token": challenge, "code": app.recovery_codes[number]})
        tokens |= {f"challenge {path}": challenge, f"session {path}": done.json()["token"]}
    api.post("/admin-recover-2fa", {"username": "alice", "password": wrong, "recovery_key": secrets["recovery key"]})
    browser.post("/wall/", f"username=alice&password={wrong}", content_type=FORM)
    browser.post("/wall/", f"username={typed}&password={wrong}&rd=https://x/?token={wrong}", content_type=FORM)
    browser.post("/wall/second-factor", f"challenge={challenge}&code={app.recovery_codes[2]}", content_type=FORM)
    browser.post("/wall/admin/login/", {"username": "alice", "password": wrong, "code": app.recovery_codes[3]})
    own = Api(secrets["session of Alice"])
    own.put(f"/users/{user.pk}/password", {"current_password": wrong, "new_password": secrets["new password"]})
    return tokens


def drive_pages(user, secrets):
    client, texts = Client(), []
    enter_admin_site(client, user, amr=("pwd", "otp"))
    admin = import_module("django.contrib.admin").site
    names = [f"{model._meta.app_label}/{model._meta.model_name}" for model in admin._registry]
    paths = ["", *(f"{name}/{part}" for name in names for part in ("", "add/"))]
    texts += [client.get(f"/wall/admin/{path}?q={secrets['body']}", follow=True) for path in paths]
    own = {"Service-Authorization": secrets["session of Bob"]}
    texts += [client.get(f"/wall/{page}", headers=own) for page in ("", "account", "denied", "enrol", "step-up")]
    return "\n".join(response.text for response in texts).replace(secrets["body"], "")  # the repeated query


def test_no_secret_is_left_anywhere(secrets, app, alice, planes, settings, caplog):
    with caplog.at_level(logging.DEBUG):
        asked = drive_gate(planes, secrets)
        given_out = drive_doors(secrets, app, alice)
        answers = drive_api(secrets, app, alice)
        pages = drive_pages(alice, secrets)
        spooled = whole_folder(settings.GATEWALL_HOME / "spool")
        ingest.ship(settings.GATEWALL_HOME / "spool")
        logs = Api(secrets["session of Alice"])
        for parameters in ({"format": "csv"}, {"format": "ndjson"}, {"page_size": 500}):
            response = logs._client.get("/wall/access-logs", parameters)
            answers += (response.getvalue() if response.streaming else response.content).decode()
        for row in AccessLog.objects.all()[:20]:
            answers += logs.get(f"/access-logs/{row.decision_id}", {"again": "true"}).text

    everything = secrets | given_out
    logged = "\n".join(
        f"{record.getMessage()} {record.exc_text or ''}"
        for record in caplog.records
        if record.name != "django.db.backends"  # SQL statements, which are never logged in production
    )
    assert AccessLog.objects.count() >= asked
    assert "***" in spooled
    assert "bad token" in logged or len(caplog.records) > 100
    codes = [app.code(steps=steps) for steps in (-1, 0, 1)]
    places = {"spool": spooled, "database": whole_database(), "logs": logged, "answers": answers, "pages": pages}
    places["home"] = whole_folder(settings.GATEWALL_HOME)
    found = {name: found_in(text, everything, codes) for name, text in places.items()}
    assert {name: left for name, left in found.items() if left} == {}


def test_no_secret_is_logged_when_everything_breaks(secrets, planes, monkeypatch, caplog):
    def broken(*_args, **_values):
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr("gatewall.gate.gate.decide", broken)
    for name in ("accounts.sign_in.login.log_in", "policies.rows.save", "audit.querying.keyset.walk"):
        monkeypatch.setattr(name, broken, raising=False)
    with caplog.at_level(logging.DEBUG):
        for tell in DIALECTS.values():
            for uri in targets(secrets):
                assert planes[0](tell(uri=uri).plus(*headers(secrets)[1])).status == 503
        api = Api(secrets["session of Alice"])
        api._client.raise_request_exception = False
        answers = [
            api.get("/access-logs", {"path": "/x"}),
            api.post("/ip-black-list", {"ip": "203.0.113.9", "remark": "x"}),
        ]

    assert [response.status_code for response in answers] == [500, 500]
    assert "broken on purpose" in caplog.text
    shown = caplog.text + "".join(response.text for response in answers)
    assert found_in(shown, secrets) == set()


def test_present_canaries_are_found_in_every_encoding(secrets):
    for name, secret in secrets.items():
        for spelling in spellings_of(secret):
            assert name in found_in(f"before{spelling}after", secrets), (name, spelling)
    assert found_in("at 123456 o'clock", {}, ["123456"]) == {"123456"}
    padded = b64encode(b"xy" + CANARIES["body"].encode() + b"z").decode()
    assert found_in(padded, {"body": CANARIES["body"]}) == {"body"}
