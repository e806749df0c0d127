"""``gatewall rotate-keys``: no session ends, and keys that cannot be rotated are refused before any is changed."""

import subprocess
import sys

import pytest
from django.core.management import CommandError

from gatewall.credentials import ringfile
from gatewall.credentials.keyring import KeyRing, SigningKey
from gatewall.credentials.rotation import new_ring
from gatewall.policy import system_settings
from tests.support import processes
from tests.support.key_files import NAMES, START, accepted, signed

pytestmark = pytest.mark.django_db


def test_old_and_new_processes_accept_each_others_tokens(installation):
    before = installation.sessions

    installation.rotate(days=1)

    after = installation.sessions
    assert after.signing != before.signing
    for issued_by in (before, after):
        for asked in (before, after):
            assert accepted(signed(issued_by), asked)


def test_an_earlier_session_stays_valid_through_all_rotations_until_it_expires(installation):
    system_settings.change(session_hours=24 * 5, actor="alice")
    token = signed(installation.sessions)

    for _ in range(5):
        installation.rotate(days=1)
        assert accepted(token, installation.sessions)


def test_retired_keys_are_removed_when_no_session_can_need_them(installation):
    first = installation.sessions
    installation.rotate(days=1)

    installation.rotate(days=1)  # the 24 hours of a session have passed, the day for restarts has not
    assert first.signing in installation.sessions.keys
    installation.rotate("--finish", days=1)

    assert first.signing not in installation.sessions.keys
    assert first.signing.kid not in (installation.folder / "jwt-keys").read_text()


def test_session_that_was_opened_for_longer_keeps_its_key(installation, wall, alice):
    system_settings.change(session_hours=24 * 30, actor="alice")
    wall.a_token(alice, at=START)
    system_settings.change(session_hours=1, actor="alice")
    first = installation.sessions.signing

    installation.rotate(days=1)
    installation.rotate("--finish", days=20)

    assert first in installation.sessions.keys


def test_second_rotation_in_a_day_needs_a_restart(installation):
    installation.rotate(days=1)
    before = installation.sessions, installation.data

    with pytest.raises(CommandError, match="less than a day old") as refusal:
        installation.rotate()
    assert refusal.value.returncode == 1
    assert (installation.sessions, installation.data) == before

    installation.rotate("--restarted")
    assert installation.sessions.signing == before[0].keys[1]


def test_one_key_made_by_hand_gets_a_next_one_that_does_not_sign_yet(installation):
    by_hand = KeyRing((SigningKey("by-hand", bytes(range(32))),))
    (installation.folder / "jwt-keys").write_text(by_hand.text())

    installation.rotate(days=1)
    with_next = installation.sessions
    installation.rotate(days=1)

    assert with_next.signing == by_hand.signing
    assert installation.sessions.signing == with_next.keys[1]
    assert accepted(signed(by_hand), installation.sessions)
    assert accepted(signed(installation.sessions), with_next)


def test_output_has_names_and_no_key(installation, capsys):
    before = installation.sessions
    installation.rotate(days=1)
    said = "".join(capsys.readouterr())

    rings = (before, installation.sessions, installation.data)
    assert all(key.kid in said for ring in rings[1:] for key in ring.keys)
    assert not [
        key for ring in rings for key in ring.keys if key.secret.hex() in said or KeyRing((key,)).text() in said
    ]
    assert "Restart every process" in said


@pytest.mark.parametrize("name", NAMES)
def test_keys_in_the_environment_are_refused(installation, monkeypatch, name):
    monkeypatch.setenv(name, new_ring(START).text())
    before = installation.sessions, installation.data

    with pytest.raises(CommandError, match=f"^{name} is in the environment.*{name}_FILE") as refusal:
        installation.rotate(days=1)

    assert refusal.value.returncode == 2
    assert "\n" not in str(refusal.value)
    assert (installation.sessions, installation.data) == before


def test_rotation_changes_the_file_named_in_the_environment(installation, monkeypatch, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    named, ring = elsewhere / "sessions", new_ring(START)
    named.write_text(ring.text())
    monkeypatch.setenv("GATEWALL_JWT_KEYS_FILE", str(named))
    default = installation.sessions

    installation.rotate(days=1)

    assert ringfile.read(named).signing == ring.keys[1]
    assert installation.sessions == default


@pytest.mark.parametrize("damage", ["missing", "no ring", "not writable"])
def test_file_that_cannot_be_rotated_is_refused_before_anything_is(installation, monkeypatch, damage):
    before = installation.sessions
    file = installation.folder / "data-keys"
    if damage == "missing":
        file.unlink()
    elif damage == "no ring":
        file.write_text("nothing")
    else:
        monkeypatch.setattr(ringfile, "is_writable", lambda path: path != file)

    with pytest.raises(CommandError, match=r"^GATEWALL_DATA_KEYS: ") as refusal:
        installation.rotate(days=1)

    assert refusal.value.returncode == 2
    assert installation.sessions == before


def test_two_rotations_at_once_are_refused(installation):
    with ringfile.held([installation.folder / "jwt-keys"]), pytest.raises(CommandError, match="another rotation"):
        installation.rotate(days=1)


def test_real_command_on_a_new_installation(tmp_path):
    home = tmp_path / "home"
    processes.prepare(home)
    command = [sys.executable, "manage.py", "rotate_keys"]
    before = ringfile.read(home / "secrets" / "jwt-keys")

    refused = subprocess.run(
        command, cwd=processes.BASE, env=processes.environment(home), capture_output=True, timeout=60, check=False
    )
    said = processes.manage(home, "rotate_keys", "--restarted")

    assert (refused.returncode, len(refused.stderr.splitlines()), refused.stdout) == (1, 1, b"")
    assert ringfile.read(home / "secrets" / "jwt-keys").signing == before.keys[1]
    assert before.keys[1].kid in said
    assert "no issues" in processes.manage(home, "check")
