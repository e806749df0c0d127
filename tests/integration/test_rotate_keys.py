"""``manage.py rotate_keys``: nobody is signed out, no second factor is lost, and a killed run is taken up again."""

import pkgutil
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.core.management import CommandError, call_command

from accounts.models import TotpDevice
from accounts.second_factor import sealing_context
from gatewall import system_settings
from gatewall.credentials import ringfile
from gatewall.credentials.keyring import KeyRing, SigningKey
from gatewall.credentials.rotation import new_ring
from gatewall.credentials.sealing import SealBroken, Sealer
from gatewall.credentials.sessions import SessionVerifier
from tests.cast import AUDIENCE, ISSUER, a_session_token

pytestmark = pytest.mark.django_db

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
NAMES = {"GATEWALL_JWT_KEYS": "jwt-keys", "GATEWALL_DATA_KEYS": "data-keys"}
SECRET = b"a secret of twenty b"


class Killed(BaseException):
    """The process ends here."""


class Installation:
    """The key files of an installation, and its clock."""

    def __init__(self, folder, clock):
        self.folder = folder
        self.clock = clock
        folder.mkdir()
        for file in NAMES.values():
            (folder / file).write_text(new_ring(START).text())

    @property
    def sessions(self) -> KeyRing:
        return ringfile.read(self.folder / "jwt-keys")

    @property
    def data(self) -> KeyRing:
        return ringfile.read(self.folder / "data-keys")

    def rotate(self, *options, days=0):
        self.clock.shift(days * DAY)
        call_command("rotate_keys", *options)


@pytest.fixture
def installation(tmp_path, monkeypatch):
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    with time_machine.travel(START, tick=False) as clock:
        yield Installation(tmp_path / "secrets", clock)


def signed(ring):
    return a_session_token(key=ring.signing)


def accepted(token, ring):
    return SessionVerifier(ring, issuer=ISSUER, audience=AUDIENCE).verify(token) is not None


def a_device(user, ring, secret=SECRET):
    sealed = Sealer(ring).seal(secret, context=sealing_context(user.pk))
    return TotpDevice.objects.create(user=user, sealed_secret=sealed, created_at=START)


def opened(user, ring):
    sealed = TotpDevice.objects.get(user=user).sealed_secret
    return Sealer(ring).open(sealed, context=sealing_context(user.pk))


def test_old_and_new_processes_accept_each_others_tokens(installation):
    before = installation.sessions

    installation.rotate(days=1)

    after = installation.sessions
    assert after.signing != before.signing
    for issued_by in (before, after):
        for asked in (before, after):
            assert accepted(signed(issued_by), asked)


def test_a_session_of_before_lives_through_all_the_rotations_of_its_life(installation):
    system_settings.change(session_hours=24 * 5)
    token = signed(installation.sessions)

    for _ in range(5):
        installation.rotate(days=1)
        assert accepted(token, installation.sessions)


def test_retired_keys_go_when_no_session_can_need_them(installation):
    first = installation.sessions
    installation.rotate(days=1)

    installation.rotate(days=1)  # 24 hours of a session are over, the day to restart in is not
    assert first.signing in installation.sessions.keys
    installation.rotate("--finish", days=1)

    assert first.signing not in installation.sessions.keys
    assert first.signing.kid not in (installation.folder / "jwt-keys").read_text()


def test_session_that_was_opened_for_longer_keeps_its_key(installation, wall, alice):
    system_settings.change(session_hours=24 * 30)
    wall.a_token(alice, at=START)
    system_settings.change(session_hours=1)
    first = installation.sessions.signing

    installation.rotate(days=1)
    installation.rotate("--finish", days=20)

    assert first in installation.sessions.keys


def test_every_second_factor_opens_in_old_and_new_processes(installation, alice, bob):
    before = installation.data
    for user in (alice, bob):
        a_device(user, before)

    installation.rotate(days=1)

    for user in (alice, bob):
        assert opened(user, before) == opened(user, installation.data) == SECRET
        assert not Sealer(installation.data).needs_resealing(TotpDevice.objects.get(user=user).sealed_secret)


def test_data_key_goes_only_when_no_row_needs_it(installation, alice, bob):
    first = installation.data
    a_device(alice, first)
    installation.rotate(days=1)
    a_device(bob, first)  # by a process of before the rotation

    installation.rotate("--finish")
    assert first.signing in installation.data.keys  # others of that kind may still run
    installation.rotate("--finish", days=1)

    assert first.signing not in installation.data.keys
    assert {opened(user, installation.data) for user in (alice, bob)} == {SECRET}


def test_row_that_changes_while_it_is_resealed_keeps_the_change(installation, alice, monkeypatch):
    first = installation.data
    device = a_device(alice, first)
    seal = Sealer.seal
    changes = iter([b"another secret"])

    def meanwhile(sealer, plain, *, context):
        with suppress(StopIteration):
            changed = seal(Sealer(first), next(changes), context=context)
            TotpDevice.objects.filter(pk=device.pk).update(sealed_secret=changed)
        return seal(sealer, plain, context=context)

    monkeypatch.setattr(Sealer, "seal", meanwhile)
    installation.rotate(days=1)

    assert opened(alice, KeyRing(installation.data.keys[:1])) == b"another secret"


def test_row_that_always_changes_keeps_its_data_key(installation, alice, monkeypatch, capsys):
    first = installation.data
    device = a_device(alice, first)
    installation.rotate(days=1)
    seal = Sealer.seal

    def always(sealer, plain, *, context):
        TotpDevice.objects.filter(pk=device.pk).update(sealed_secret=seal(Sealer(first), SECRET, context=context))
        return seal(sealer, plain, context=context)

    TotpDevice.objects.update(sealed_secret=Sealer(first).seal(SECRET, context=sealing_context(alice.pk)))
    monkeypatch.setattr(Sealer, "seal", always)
    installation.rotate("--finish", days=9)

    assert "1 left" in capsys.readouterr().out
    assert opened(alice, installation.data) == SECRET


def test_user_that_goes_away_meanwhile_is_no_error(installation, alice, monkeypatch):
    a_device(alice, installation.data)
    seal = Sealer.seal

    def gone(sealer, plain, *, context):
        TotpDevice.objects.all().delete()
        return seal(sealer, plain, context=context)

    monkeypatch.setattr(Sealer, "seal", gone)
    installation.rotate(days=1)

    assert not TotpDevice.objects.exists()


def test_broken_row_is_counted_left_alone_and_stops_nobody(installation, alice, bob, capsys):
    broken = a_device(alice, new_ring(START))
    a_device(bob, installation.data)

    installation.rotate(days=1)

    assert "second factors: 1 re-sealed, 1 that no key opens" in capsys.readouterr().out
    assert TotpDevice.objects.get(user=alice).sealed_secret == broken.sealed_secret
    assert opened(bob, installation.data) == SECRET


def test_more_rows_than_a_batch_are_all_resealed(installation, alice, wall, monkeypatch):
    monkeypatch.setattr("gatewall.resealing._BATCH", 2)
    users = [alice, *(wall.a_user(f"user{number}") for number in range(4))]
    for user in users:
        a_device(user, installation.data)

    installation.rotate(days=1)

    newest = KeyRing(installation.data.keys[:1])
    assert [opened(user, newest) for user in users] == [SECRET] * 5


def test_second_rotation_in_a_day_needs_a_restart(installation):
    installation.rotate(days=1)
    before = installation.sessions, installation.data

    with pytest.raises(CommandError, match="less than a day old") as refusal:
        installation.rotate()
    assert refusal.value.returncode == 2
    assert (installation.sessions, installation.data) == before

    installation.rotate("--restarted")
    assert installation.sessions.signing == before[0].keys[1]


def test_compromised_keys_are_gone_at_once_and_no_second_factor_with_them(installation, alice, capsys):
    before = installation.sessions, installation.data
    token = signed(before[0])
    a_device(alice, before[1])

    installation.rotate("--compromised")

    assert not set(before[0].keys) & set(installation.sessions.keys)
    assert not set(before[1].keys) & set(installation.data.keys)
    assert not accepted(token, installation.sessions)
    assert opened(alice, installation.data) == SECRET
    with pytest.raises(SealBroken):
        opened(alice, before[1])
    assert "all sessions end" in capsys.readouterr().out


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


def test_named_file_is_what_is_rotated(installation, monkeypatch, tmp_path):
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

    with pytest.raises(CommandError, match="^GATEWALL_DATA_KEYS: ") as refusal:
        installation.rotate(days=1)

    assert refusal.value.returncode == 2
    assert installation.sessions == before


def test_two_rotations_at_once_are_refused(installation):
    with ringfile.held([installation.folder / "jwt-keys"]), pytest.raises(CommandError, match="another rotation"):
        installation.rotate(days=1)


@pytest.mark.parametrize("call", ["os.fsync", "pathlib.Path.replace", "gatewall.credentials.ringfile._sync_folder"])
@pytest.mark.parametrize("at", [1, 2])
@pytest.mark.parametrize("option", [None, "--compromised"])
def test_run_that_is_killed_at_a_write_leaves_rings_that_know_everything(
    installation, alice, monkeypatch, call, at, option
):
    before = installation.sessions, installation.data
    a_device(alice, before[1])
    token = signed(before[0])
    kill_at_call(monkeypatch, call, at)

    with pytest.raises(Killed):
        installation.rotate(*([option] if option else []), days=1)
    monkeypatch.undo()

    if option is None:
        assert accepted(token, installation.sessions)
        assert accepted(signed(installation.sessions), before[0])
    assert opened(alice, installation.data) == SECRET


@pytest.mark.parametrize("at", [1, 2, 3])
def test_run_that_is_killed_between_rows_is_finished_by_the_next(installation, wall, monkeypatch, at):
    users = [wall.a_user(f"user{number}") for number in range(3)]
    before = installation.data
    for user in users:
        a_device(user, before)
    kill_at_call(monkeypatch, "gatewall.credentials.sealing.Sealer.seal", at)
    with pytest.raises(Killed):
        installation.rotate(days=1)
    monkeypatch.undo()
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    assert [opened(user, installation.data) for user in users] == [SECRET] * 3

    installation.rotate("--finish")

    newest = KeyRing(installation.data.keys[:1])
    assert [opened(user, newest) for user in users] == [SECRET] * 3


def kill_at_call(monkeypatch, target, at):
    """End the process at the n-th call of a function or method."""
    original, calls = pkgutil.resolve_name(target), []

    def call(*args, **kwargs):
        calls.append(target)
        if len(calls) == at:
            raise Killed
        return original(*args, **kwargs)

    monkeypatch.setattr(target, call)
