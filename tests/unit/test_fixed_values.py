"""Values that must not change: stored rows, files of other versions, clients and documents depend on them."""

from datetime import UTC, datetime, timedelta

import pytest

from gatewall.credentials import rotation, sessions
from gatewall.credentials.check import VerifiedTokens
from gatewall.credentials.manifest_key import manifest_key
from gatewall.credentials.sessions import SessionClaims
from gatewall.credentials.weak import why_weak
from gatewall.engine import model, segments, snapshot
from gatewall.engine.hosts import Access
from gatewall.engine.waf import rules
from gatewall.snapshot import codec, manifest
from tests.unit.request_cases import CASES

WORDS = {
    Access: "authenticated two_factor phishing_resistant public denied",
    model.Effect: "allow challenge deny error",
    model.Action: "block monitor",
    model.SubjectKind: "user git-token app-token license guest device",
    model.CredentialKind: (
        "session-header session-cookie git-token git-basic app-basic app-bearer app-header license guest-cookie"
    ),
    model.Reason: " ".join(
        [
            *dict.fromkeys(each[1] for each in CASES),
            "git-token-valid app-token-valid license-valid grant-valid device-pass-valid share-link-valid",
            "cannot-decide",
        ]
    ).replace("host-public", "host-public path-public"),
    segments.Segment: (
        "settings domains allowed-networks blocked-countries waf-rules groups access-rules grants share-links "
        "device-passes users git-tokens app-tokens licenses revocations"
    ),
    snapshot.DomainsMode: "any registered",
    snapshot.EnforcementMode: "block monitor off",
    snapshot.UnknownCountry: "allow block",
    rules.Operator: "regex contains equals starts-with ends-with",
    rules.Target: "uri path query args arg-names headers user-agent cookies referer method host body",
    rules.Transform: (
        "lowercase url-decode html-decode base64-decode compress-whitespace remove-whitespace remove-nuls "
        "normalize-path"
    ),
    rules.Category: "sqli xss traversal rce injection ssrf scanner protocol custom",
    rules.Severity: "low medium high critical",
}


@pytest.mark.parametrize("words", WORDS, ids=lambda words: words.__name__)
def test_values_of_enumerations_are_fixed(words):
    assert [word.value for word in words] == WORDS[words].split()


def test_issuer_audience_type_and_algorithm_of_sessions_are_fixed():
    assert (sessions.ISSUER, sessions.GATE_AUDIENCE, sessions.SESSION_TYPE, sessions.ALGORITHM) == (
        "gatewall",
        "gate",
        "session",
        "HS256",
    )


def test_a_segment_of_the_current_schema_is_read():
    assert codec.decode("revocations", b'gatewall segment 7\n["a"]') == ("a",)
    assert segments.blocked_networks_of("manual") == "blocked-networks/manual"


def test_size_limits_of_files_are_fixed():
    assert codec.MAX_SEGMENT_BYTES == 256 * 2**20
    assert manifest.MAX_MANIFEST_BYTES == 2**20


def test_the_key_of_manifests_is_the_same_in_every_version():
    # echo -n "gatewall policy manifest 1" | openssl dgst -sha256 -hmac "a secret"
    assert manifest_key("a secret").hex() == "5045505320e587c47a7c77a5d442af6da4826de3a1081fd245c2d15bb72c38e7"


def test_default_values_are_fixed():
    assert snapshot.Version(1) == snapshot.Version(1, 0, 0, "")
    assert model.Credential(model.CredentialKind.LICENSE, "a") == model.Credential(
        model.CredentialKind.LICENSE, "a", ""
    )
    assert model.Subject(model.SubjectKind.LICENSE, 1) == model.Subject(
        model.SubjectKind.LICENSE, 1, "", "", False, True, frozenset(), ()
    )
    assert snapshot.PolicySettings() == snapshot.PolicySettings(
        snapshot.DomainsMode.ANY,
        snapshot.EnforcementMode.BLOCK,
        5,
        snapshot.EnforcementMode.BLOCK,
        snapshot.UnknownCountry.ALLOW,
        0,
    )
    assert rules.WafRule(1, "", "a") == rules.WafRule(
        1,
        "",
        "a",
        rules.Operator.REGEX,
        (rules.Target.URI,),
        (),
        rules.Category.CUSTOM,
        5,
        model.Action.BLOCK,
        None,
        None,
        (),
    )


def test_the_cache_of_tokens_has_4096_entries():
    class Verifier:
        calls = 0

        def verify(self, token):
            self.calls += 1
            return SessionClaims(1, token, 1, 0, 0, 1, ())

    verifier = Verifier()
    memo = VerifiedTokens(verifier)
    for number in range(4096):
        memo.verify(str(number))

    memo.verify("0")
    assert verifier.calls == 4096
    memo.verify("one more")
    memo.verify("1")
    assert verifier.calls == 4098


@pytest.mark.parametrize(
    "word",
    [
        *("changeme", "changethis", "changeit", "replaceme", "replacethis", "insecure", "notsecure", "supersecret"),
        *("topsecret", "yoursecret", "mysecret", "secretkey", "keepitsecret", "keepsecret", "notasecret"),
        *("notsosecret", "thisisa", "password", "passphrase", "letmein", "iloveyou", "correcthorse", "deadbeef"),
        *("cafebabe", "placeholder", "examplekey", "generateone", "yourkeyhere", "randomstring", "development"),
        *("productionsecret", "donotuse", "gatewall"),
    ],
)
def test_secret_with_a_known_word_in_it_is_weak(word):
    assert why_weak(f"7Q-{word}_9x2LrT0") == "is a known default"


@pytest.mark.parametrize("row", ["qwertyuiop", "asdfghjkl", "zxcvbnm", "qwertzuiop", "azertyuiop", "1234567890"])
def test_secret_along_a_row_of_keys_is_weak_in_both_directions(row):
    assert why_weak(row) == why_weak(row[::-1]) == "runs along the alphabet or the keyboard"


def test_key_is_named_after_the_moment_at_which_it_was_made():
    key = rotation.new_key(datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC))

    assert key.kid.startswith("20260314T092653Z-")
    assert timedelta(days=1) == rotation.RESTART_GRACE
