"""Resealing of second factors when keys are rotated: none is lost, and a killed run can be resumed."""

from contextlib import suppress

import pytest
from django.apps import apps

from accounts.models import TotpDevice
from accounts.sign_in.totp import sealing_context
from gatewall.credentials.keyring import KeyRing
from gatewall.credentials.rotation import new_ring
from gatewall.credentials.sealing import SealBroken, Sealer
from gatewall.install.key_rotation import SEALED_COLUMNS
from tests.support.key_files import NAMES, START, Killed, accepted, kill_at_call, signed

pytestmark = pytest.mark.django_db

SECRET = b"a secret of twenty b"


def a_device(user, ring, secret=SECRET):
    sealed = Sealer(ring).seal(secret, context=sealing_context(user.pk))
    return TotpDevice.objects.create(user=user, sealed_secret=sealed, created_at=START)


def opened(user, ring):
    sealed = TotpDevice.objects.get(user=user).sealed_secret
    return Sealer(ring).open(sealed, context=sealing_context(user.pk))


def test_every_second_factor_opens_in_old_and_new_processes(installation, alice, bob):
    before = installation.data
    for user in (alice, bob):
        a_device(user, before)

    installation.rotate(days=1)

    for user in (alice, bob):
        assert opened(user, before) == opened(user, installation.data) == SECRET
        assert not Sealer(installation.data).needs_resealing(TotpDevice.objects.get(user=user).sealed_secret)


def test_a_data_key_is_removed_only_when_no_row_needs_it(installation, alice, bob):
    first = installation.data
    a_device(alice, first)
    installation.rotate(days=1)
    a_device(bob, first)  # by a process started before the rotation

    installation.rotate("--finish")
    assert first.signing in installation.data.keys  # other such processes may still run
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


def test_user_that_is_deleted_meanwhile_is_no_error(installation, alice, monkeypatch):
    a_device(alice, installation.data)
    seal = Sealer.seal

    def gone(sealer, plain, *, context):
        TotpDevice.objects.all().delete()
        return seal(sealer, plain, context=context)

    monkeypatch.setattr(Sealer, "seal", gone)
    installation.rotate(days=1)

    assert not TotpDevice.objects.exists()


def test_broken_row_is_counted_and_left_unchanged_and_blocks_no_other(installation, alice, bob, capsys):
    broken = a_device(alice, new_ring(START))
    a_device(bob, installation.data)

    installation.rotate(days=1)

    assert "second factors: 1 re-sealed, 1 that no key can decrypt" in capsys.readouterr().out
    assert TotpDevice.objects.get(user=alice).sealed_secret == broken.sealed_secret
    assert opened(bob, installation.data) == SECRET


def test_more_rows_than_a_batch_are_all_resealed(installation, alice, wall, monkeypatch):
    monkeypatch.setattr("gatewall.database.resealing._BATCH", 2)
    users = [alice, *(wall.a_user(f"user{number}") for number in range(4))]
    for user in users:
        a_device(user, installation.data)

    installation.rotate(days=1)

    newest = KeyRing(installation.data.keys[:1])
    assert [opened(user, newest) for user in users] == [SECRET] * 5


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


@pytest.mark.parametrize("call", ["os.fsync", "pathlib.Path.replace", "gatewall.credentials.ringfile._sync_folder"])
@pytest.mark.parametrize("at", [1, 2])
@pytest.mark.parametrize("option", [None, "--compromised"])
def test_run_that_is_killed_at_a_write_leaves_rings_with_every_needed_key(
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


def test_every_column_of_sealed_secrets_is_resealed():
    columns = {
        (model, field.name)
        for model in apps.get_models()
        for field in model._meta.get_fields()
        if field.name.startswith("sealed")
    }

    assert {(column.rows().model, column.field) for column in SEALED_COLUMNS.values()} == columns != set()
