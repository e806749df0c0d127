"""J-24: no process starts with a secret that is publicly known, short, or used for two purposes."""

import secrets
from base64 import b64encode
from pathlib import Path

import pytest

from gatewall.kernel import env
from tests.support import command_server
from tests.support.cast import base64url
from tests.support.processes import PATIENCE

BASE = Path(__file__).resolve().parents[2]
RINGS = ("GATEWALL_JWT_KEYS", "GATEWALL_DATA_KEYS")
TEXTS = ("GATEWALL_SECRET_KEY", "GATEWALL_ADMIN_RECOVERY_KEY", "GATEWALL_METRICS_TOKEN")
WEAK_TEXTS = {
    "short": "Yx3vQm8Lr0Tn5Kb2",
    "one character short": "Yx3vQm8Lr0Tn5Kb2Wd7Hc4Jf9Pg6Zs1",
    "one byte": "x" * 64,
    "known": "changeme-Yx3vQm8Lr0Tn5Kb2Wd7Hc4Jf9Pg6Zs1A",
    "django's": "django-insecure-&2k!q9x7b_w4z1m8v5c3n0p6l",
    "repeated": "Yx3vQm8Lr0Tn5Kb2" * 3,
    "keyboard": "qwertyuiopasdfghjklzxcvbnm1234567890",
}
WEAK_KEYS = {
    "short": b"Yx3vQm8Lr0Tn5Kb2",
    "one byte": b"\0" * 32,
    "known": b"changeme-Yx3vQm8Lr0Tn5Kb2Wd7Hc4Jf9Pg6Zs1A",
    "repeated": b"Yx3vQm8Lr0Tn5Kb2" * 2,
    "counted": bytes(range(32)),
}


def good():
    rings = {name: f"k1:{base64url(secrets.token_bytes(32))}" for name in RINGS}
    return rings | {name: secrets.token_urlsafe(48) for name in TEXTS}


def refusal(**variables):
    with pytest.raises(env.ConfigError) as caught:
        env.read(good() | variables, Path("/nowhere"))
    return str(caught.value)


def test_random_secrets_are_taken():
    for _ in range(50):
        env.read(good(), Path("/nowhere"))


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("secret", WEAK_TEXTS.values(), ids=WEAK_TEXTS)
def test_weak_secret_is_one_line_without_it(name, secret):
    line = refusal(**{name: secret})

    assert line.startswith(f"{name} ")
    assert "\n" not in line
    assert secret[:12] not in line


@pytest.mark.parametrize("name", RINGS)
@pytest.mark.parametrize("place", ["in use", "retired"])
@pytest.mark.parametrize("secret", WEAK_KEYS.values(), ids=WEAK_KEYS)
def test_weak_key_of_a_ring_is_refused_wherever_it_stands(name, place, secret):
    keys = [f"weak:{base64url(secret)}", f"good:{base64url(secrets.token_bytes(32))}"]
    line = refusal(**{name: ",".join(keys if place == "in use" else reversed(keys))})

    assert line.startswith(f"{name}: the key 'weak' ")
    assert base64url(secret)[:12] not in line


@pytest.mark.parametrize(
    ("name", "other"), [(one, two) for at, one in enumerate((*RINGS, *TEXTS)) for two in (*RINGS, *TEXTS)[:at]]
)
def test_one_secret_for_two_purposes_is_refused(name, other):
    shared = base64url(secrets.token_bytes(32))
    line = refusal(**{each: f"k:{shared}" if each in RINGS else shared for each in (name, other)})

    assert name in line
    assert other in line
    assert "share a secret" in line
    assert shared not in line


def test_one_secret_in_two_spellings_is_refused():
    shared = secrets.token_bytes(32)

    assert "share" in refusal(
        GATEWALL_JWT_KEYS=f"k:{base64url(shared)}",
        GATEWALL_METRICS_TOKEN=b64encode(shared, altchars=b"-_").decode(),
    )


@pytest.mark.parametrize("name", RINGS)
def test_one_key_under_two_names_is_refused(name):
    key = base64url(secrets.token_bytes(32))

    assert refusal(**{name: f"a:{key},b:{key}"}).startswith(f"{name} has a key twice")


def test_a_weak_secret_in_a_file_is_refused(tmp_path):
    (tmp_path / "key").write_text(WEAK_TEXTS["known"] + "\n")
    variables = {name: text for name, text in good().items() if name != "GATEWALL_SECRET_KEY"}

    with pytest.raises(env.ConfigError, match="GATEWALL_SECRET_KEY is a known default"):
        env.read(variables | {"GATEWALL_SECRET_KEY_FILE": str(tmp_path / "key")}, tmp_path)


@pytest.mark.parametrize("name", [*RINGS, *TEXTS])
@pytest.mark.parametrize("program", ["manage.py", "the data plane"])
def test_no_process_starts_with_a_weak_secret(tmp_path, program, name):
    weak = WEAK_TEXTS["known"] if name in TEXTS else f"k:{base64url(WEAK_KEYS['known'])}"
    code = "" if program == "manage.py" else "from gatewall.data_plane import application; application()"
    environment = good() | {name: weak, "GATEWALL_HOME": str(tmp_path)}

    ended = command_server.run(["check"], env=environment, code=code, timeout=PATIENCE)

    assert ended.returncode != 0
    assert name in ended.stderr
    assert weak not in ended.stdout + ended.stderr
    if program == "manage.py":
        assert (ended.returncode, len(ended.stderr.splitlines()), ended.stdout) == (2, 1, "")
