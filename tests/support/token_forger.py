"""Forge session tokens with knowledge of a live session, and mostly even of the signing key.

A token signed with the real key is rejected only because of its one fault.
"""

import hashlib
import hmac
import json
from base64 import urlsafe_b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count

from gatewall.credentials.keyring import SigningKey
from tests.support.cast import base64url

HOUR = 3600
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


@dataclass(frozen=True)
class Forger:
    """A live session with its key, and other sessions to impersonate."""

    key: SigningKey
    claims: Mapping[str, object]
    now: int
    admin: Mapping[str, object]
    deleted: Mapping[str, object]
    disabled: Mapping[str, object]
    """The claims in which the sessions differ."""

    def header(self, **fields: object) -> dict[str, object]:
        """Return the real header with these fields; None omits one."""
        usual = {"alg": "HS256", "kid": self.key.kid, "typ": "JWT"}
        return {name: value for name, value in (usual | fields).items() if value is not None}

    def good(self) -> str:
        return self.sign()

    def sign(self, header: object = None, payload: object = None, *, secret: bytes | None = None) -> str:
        """Return a token with these values or bytes, signed with the real key or another secret."""
        return self.seal(
            segment_of(self.header() if header is None else header),
            segment_of(dict(self.claims) if payload is None else payload),
            secret=secret,
        )

    def seal(self, head: str, body: str, *, secret: bytes | None = None, algorithm: str = "sha256") -> str:
        """Return a token with exactly these segments."""
        text = f"{head}.{body}"
        return (
            f"{text}.{base64url(hmac.digest(self.key.secret if secret is None else secret, text.encode(), algorithm))}"
        )

    def claiming(self, **claims: object) -> str:
        """Return a token with these claims; None omits one."""
        changed = {**self.claims, **claims}
        return self.sign(payload={name: value for name, value in changed.items() if value is not None})

    def writing(self, name: str, text: str) -> str:
        """Return a token with one claim as raw text."""
        rest = json.dumps({key: value for key, value in self.claims.items() if key != name})
        return self.sign(payload=f'{rest[:-1]}, "{name}": {text}}}'.encode())

    def splicing(self, **claims: object) -> str:
        """Return a token whose claims were changed after signing."""
        head, _, signature = self.good().split(".")
        return f"{head}.{segment_of({**self.claims, **claims})}.{signature}"

    def unsigned(self, algorithm: object) -> str:
        return f"{segment_of(self.header(alg=algorithm))}.{segment_of(dict(self.claims))}."


Attack = Callable[[Forger], str]


def segment_of(content: object) -> str:
    return base64url(content if isinstance(content, bytes) else json.dumps(content).encode())


def with_signature(make: Callable[[str], str]) -> Attack:
    def forged(forger: Forger) -> str:
        head, body, signature = forger.good().split(".")
        return f"{head}.{body}.{make(signature)}"

    return forged


def bytes_of(signature: str, change: Callable[[bytes], bytes]) -> str:
    return base64url(change(urlsafe_b64decode(signature + "==")))


def claims_of(token: str) -> dict[str, object]:
    """Return the claims of a token, unverified."""
    claims: dict[str, object] = json.loads(urlsafe_b64decode(token.split(".")[1] + "=="))
    return claims


def loosened(segment: str) -> str:
    """Return another encoding of the same bytes: the unused last bits of base64url are set."""
    return segment[:-1] + ALPHABET[ALPHABET.index(segment[-1]) + 1]


def with_loose_payload(forger: Forger) -> str:
    bodies = (segment_of({**forger.claims, "x": "x" * size}) for size in count())
    return forger.seal(segment_of(forger.header()), loosened(next(body for body in bodies if len(body) % 4)))


def with_letter(letter: str, instead: str) -> Attack:
    """Return an attack that replaces this letter in a signature that contains it."""

    def forged(forger: Forger) -> str:
        tokens = (forger.claiming(x=number) for number in count())
        head, _, signature = next(token for token in tokens if letter in token.rpartition(".")[2]).rpartition(".")
        return f"{head}.{signature.replace(letter, instead)}"

    return forged


def twice(**values: tuple[object, object]) -> Callable[[dict[str, object]], bytes]:
    """Return JSON with a duplicate name; most parsers use the second value."""

    def text(fields: dict[str, object]) -> bytes:
        ((name, pair),) = values.items()
        rest = {key: value for key, value in fields.items() if key != name}
        doubled = ", ".join(f'"{name}": {json.dumps(value)}' for value in pair)
        return f"{{{doubled}, {json.dumps(rest)[1:]}".encode()

    return text


def jwk_of(forger: Forger, **more: object) -> dict[str, object]:
    return {"kty": "oct", "kid": forger.key.kid, "k": base64url(forger.key.secret), **more}


def json_serialization(forger: Forger, *, general: bool) -> str:
    head, body, signature = forger.good().split(".")
    signed = {"protected": head, "signature": signature}
    return json.dumps({"payload": body, **({"signatures": [signed]} if general else signed)})


_PRIMES = {
    "RSA of 1,024 bits": (
        0xD5739F487BD057A10ED3FDF78E6E251070EADB4B0BBD08914379EE9CFD39E31A43004795F5D8B4460B849DA8CBCE2BC42B47FC317D0EAA6D7FE0C840C3225209,
        0xE8B27CADDC8681D557C251BCC763067CB3687A9483FFD77EF061A6722915623AAAA5EC247811D843DECFC0BD344C49F51AF25F158F995B61865D841D4F702E61,
    ),
    # CVE-2017-15361: each prime is k * M + 65537 ** a % M, M the product of the first 71 primes.
    "RSA under a ROCA key": (
        0x897AB4A21B94B2DF89944A7F6172E9C0FA562559EF60B7B1D441100669D3001042B31FB4649DBF78740A51A6703450466B0DD58DF80264F8019DC967C76D8687,
        0xF3FC94DE41D9C79BAA31418E964019D9FB9C8B4224D97129CCCA35CCCBC8EEA28B2ED2328C5F310037D8065F7AA8EDF5AC455A79DBABA7F515743CF09EDE3AB7,
    ),
}


def with_rsa(name: str) -> Attack:
    """Return an attack that signs with RS256 (RFC 8017 section 8.2) and a weak key."""
    first, second = _PRIMES[name]

    def forged(forger: Forger) -> str:
        text = f"{segment_of(forger.header(alg='RS256'))}.{segment_of(dict(forger.claims))}"
        info = bytes.fromhex("3031300d060960864801650304020105000420") + hashlib.sha256(text.encode()).digest()
        padded = int.from_bytes(b"\0\1" + b"\xff" * (128 - len(info) - 3) + b"\0" + info)
        secret = pow(65537, -1, (first - 1) * (second - 1))
        return f"{text}.{base64url(pow(padded, secret, first * second).to_bytes(128))}"

    return forged


def with_header(**fields: object) -> Attack:
    return lambda forger: forger.sign(forger.header(**fields))


def with_claims(**claims: object) -> Attack:
    return lambda forger: forger.claiming(**claims)


def with_secret(secret: Callable[[Forger], bytes]) -> Attack:
    return lambda forger: forger.sign(secret=secret(forger))


def with_time(name: str, seconds: int) -> Attack:
    return lambda forger: forger.claiming(**{name: forger.now + seconds})


def with_hmac(name: str, algorithm: str) -> Attack:
    return lambda forger: forger.seal(
        segment_of(forger.header(alg=name)), segment_of(dict(forger.claims)), algorithm=algorithm
    )


def with_written(name: str, text: str) -> Attack:
    return lambda forger: forger.writing(name, text)


def with_doubled_header(**values: tuple[object, object]) -> Attack:
    return lambda forger: forger.sign(twice(**values)(forger.header()))


def with_doubled_claim(name: str, other: object) -> Attack:
    return lambda forger: forger.sign(payload=twice(**{name: (other, forger.claims[name])})(dict(forger.claims)))
