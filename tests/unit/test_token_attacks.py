"""The JWT attack list: every case is present by its id, and the verifier refuses all its tokens."""

import hashlib
from collections import Counter
from dataclasses import replace

import pytest

from gatewall.engine.model import CredentialKind
from gatewall.kernel import env
from tests.support.cast import ALICE, BOB, KEYS, NOW, a_credential, a_credential_check, a_policy, base64url, some_claims
from tests.support.token_attacks import COUNTS, STAGED, TOKENS, staged
from tests.support.token_forger import Forger

DELETED, DISABLED = replace(BOB, id=98), replace(BOB, id=4, is_active=False)
POLICY = a_policy(users=[ALICE, BOB, DISABLED])
FORGER = Forger(
    KEYS.signing,
    some_claims(BOB),
    int(NOW),
    **{
        name: {"sub": str(user.id), "sv": user.session_version}
        for name, user in {"admin": ALICE, "deleted": DELETED, "disabled": DISABLED}.items()
    },
)
SESSION = pytest.mark.parametrize("kind", [CredentialKind.SESSION_HEADER, CredentialKind.SESSION_COOKIE])


def subject_of(token, kind):
    return a_credential_check().subject_of(a_credential(token, kind), POLICY, NOW)


def test_every_case_of_the_list_is_there():
    counted = Counter(name.partition(" ")[0] for name in [*TOKENS, *STAGED])

    assert sum(COUNTS.values()) == 158
    assert {row: number for row, number in counted.items() if row != "J-22"} == COUNTS
    assert counted["J-22"] == 3


def test_no_two_attacks_are_the_same_token():
    tokens = [attack(FORGER) for attack in TOKENS.values()]

    assert len(set(tokens)) == len(tokens)
    assert FORGER.good() not in tokens


@SESSION
@pytest.mark.parametrize("attack", TOKENS.values(), ids=TOKENS)
def test_an_attack_proves_nobody(attack, kind):
    assert subject_of(attack(FORGER), kind) is None


@SESSION
def test_the_forger_can_make_a_good_token(kind):
    assert subject_of(FORGER.good(), kind) is not None
    assert subject_of(FORGER.claiming(x="\u00e9"), kind) is not None


WEAK_KEYS = {
    "J-24 short key": f"new:{base64url(bytes(range(31)))}",
    "J-24 key of one letter": f"new:{'A' * 43}",
    "J-24 key that everybody knows": f"new:{base64url(b'secret' * 6)}",
}


SECRET_KEY = "Yx3vQm8Lr0Tn5Kb2Wd7Hc4Jf9Pg6Zs1A"
KEY_RINGS = ("GATEWALL_JWT_KEYS", "GATEWALL_DATA_KEYS")


@pytest.mark.parametrize("name", KEY_RINGS)
@pytest.mark.parametrize("case", staged("J-24"))
def test_a_weak_key_is_refused_at_start(tmp_path, case, name):
    good = {each: f"new:{base64url(hashlib.sha256(each.encode()).digest())}" for each in KEY_RINGS}
    env.read({"GATEWALL_SECRET_KEY": SECRET_KEY, **good}, tmp_path)

    with pytest.raises(env.ConfigError, match=f"^{name}\\b"):
        env.read({"GATEWALL_SECRET_KEY": SECRET_KEY, **good, name: WEAK_KEYS[case]}, tmp_path)
