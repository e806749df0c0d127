"""Recognize names of parameters, headers, cookies and fields whose values are secret. Pure; linear time.

A name is split into words at separators and changes of case: ``sessionKey``, ``X-Plex-Token``. A word is secret on its
own (``password``), unless a following word makes the value a description (``password_length``), or in combination:
``key``, ``code`` and ``pass`` are secret after some words only.
"""

from functools import lru_cache

_LONGEST = 200
_SHORT = 64


def _words_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


_EXACT = _words_of(
    """
    accesskey appsecretproof artapi authcode cardnumber cfturnstileresponse code codeverifier connectionstring
    connstr cookie creditcard creditcardnumber csc cvc cvv dsn grecaptcharesponse hcaptcharesponse key
    keycloakidentity license mnemonic motdepasse nonce oauthverifier passkey pat pgt pin privatekeypem psk
    samlart samlresponse securityanswer servicelicense session setcookie sid sign ssn wpnonce wresult xaccesskey
    xjfrogartapi
    """
)
"""Complete names, in lower case, without separators."""
_ALWAYS = _words_of(
    """
    2fa apikey assertion authorization bearer clave contrasena credential credentials csrf hmac hotp jwt
    kennwort lozinka mdp mfa otp passcode passphrase passwd password passwort privatekey psw pswd pw pwd secret
    secretkey senha sessionid sesskey tfa totp wachtwoord xsrf
    """
)
"""Words that are always secret."""
_AT_THE_END = _words_of(
    "auth cookie cvc cvv mnemonic nonce pass pin psk sas sessid session sid sig signature ticket token verifier"
)
"""Words that are secret at the end of a name, or before one of ``_OF_SECRETS``."""
_OF_SECRETS = _words_of(
    "again auth code confirm confirmation data hash hint key new old raw repeat string text value verify"
)
_OF_SESSIONS = _OF_SECRETS | {"id", "state"}
_DESCRIBED = _words_of(
    """
    age alg algorithm at count enabled endpoint expiration expire expired expires expiry format label len length
    lifetime limit max method min mode name names path placeholder policy position required scope scopes size
    status strength title ttl type types uri url usage version visible
    """
)
"""After a secret word, they show that the value only describes a secret."""
_DESCRIBED_ENDS = ("length", "policy", "type", "strength", "expires", "enabled", "required", "status")
_PLURAL = _ALWAYS | _words_of("code cookie key nonce sessid sid signature token")
"""Words whose plural means several secrets: ``api_keys``, ``tokens``."""
_COUNTED = _words_of("batch completion generation input max maximum min n new num number output prompt total used")
"""Before ``tokens``, they show that the value is a count, such as language models report."""
_NO_TOKEN = _words_of("continuation cursor marker page pagination skip sync")
"""Before ``token``, they show that the value is a pagination cursor."""
_NO_KEY = _words_of(
    """
    alt answer arrow cache candidate category column composite config control enter event field filter foreign
    group hash hot i18n index issue item lookup map menu message meta natural object order page partition
    primary project public range return row search setting shift site sort tab translation unique
    """
)
"""Before ``key``, they show that the value is an identifier."""
_CODES = _words_of(
    """
    access activation approval auth authentication authenticator authorization backup challenge confirm
    confirmation device email exchange factor invitation invite join link login magic onetime pairing phone pin
    recovery register registration reset secret security signin sms step temp temporary time unlock user
    verification verify
    """
)
"""Before ``code``, they show that the value is a credential."""
_PASSES = _words_of("band boarding bus by day high low render season ski train")
"""Before ``pass``, they show that the value is no secret."""
_PHRASES = frozenset({"seed", "recovery", "secret", "pass", "backup", "wallet"})
_HASHES = frozenset({"reset", "login", "auth", "security", "confirm", "confirmation", "verification", "pw"})
_ENDS = (
    *_words_of(
        """
    token password passwd passphrase passcode secret apikey accesskey secretkey sessionkey privatekey licensekey
    recoverykey activationkey encryptionkey signingkey authkey masterkey subscriptionkey sharedkey streamkey
    consumerkey clientkey accountkey signature credential credentials sessionid sessid authorization otpcode
    userpass dbpass newpass oldpass confirmpass loginpass pwd assertion
    """
    ),
    *(f"{word}code" for word in sorted(_CODES - {"time", "step", "phone", "pin", "link", "user", "access"})),
)
"""Endings of secret names without separators."""
_WITHIN = ("password", "passwd", "passphrase", "sessid", "sessionid", "csrf", "xsrf")
_TRIGGERS = _ALWAYS | _AT_THE_END | {"session", "pass", "token"}
"""Words that may be secret wherever they are in a name."""


def _stems() -> tuple[bytes, ...]:
    """Return the letters of all words that make a name secret, except of words that contain another one."""
    words = {*_EXACT, *_ALWAYS, *_AT_THE_END, *_ENDS, *_WITHIN, "session", "key", "code", "phrase", "hash"}
    letters = {word.strip(_DIGITS) for word in words}
    return tuple(sorted([each.encode() for each in letters if not any(o in each for o in letters if o != each)]))


_DIGITS = "0123456789"
_STEMS = _stems()
_NO_LETTERS = bytes(set(range(256)) - set(b"abcdefghijklmnopqrstuvwxyz"))
_TO_BLANKS = bytes([each if chr(each).isalnum() else 32 for each in range(128)]) + b" " * 128
_HARMLESS_ENDS = tuple(f"{word}token" for word in sorted(_NO_TOKEN))


def is_secret_name(name: str) -> bool:
    """Return whether a decoded name indicates a secret value; a long name does if it contains a part of such a name."""
    return _is_secret_short_name(name) if len(name) <= _SHORT else _has_stem(name[-_LONGEST:])


def _has_stem(name: str) -> bool:
    """Return False if no part of the name can make it secret: a quick check."""
    packed = name.lower().encode("ascii", "ignore").translate(None, _NO_LETTERS)
    for stem in _STEMS:  # noqa: SIM110 - a generator takes twice the time
        if stem in packed:
            return True
    return False


def _has_secret_word(name: str) -> bool:
    if not _has_stem(name):
        return False
    words = _words(name)
    if not words:
        return False
    whole = "".join(words)
    if whole in _EXACT or whole in _ALWAYS or (whole.endswith(_ENDS) and not whole.endswith(_HARMLESS_ENDS)):
        return True  # regardless of its single words
    last = len(words) - 1
    for at, word in enumerate(words):
        if (word in _TRIGGERS or at == last) and _is_secret_word(words, at):
            return True
    return not last and _is_secret_alone(whole)


_is_secret_short_name = lru_cache(4096)(_has_secret_word)  # a site has few distinct names


def _words(name: str) -> list[str]:
    """Return the words in lower case, without trailing digits and without numbers after the first word."""
    if name.isascii() and name.lower() == name:
        words = [word.rstrip(_DIGITS) for word in name.encode().translate(_TO_BLANKS).decode().split()]
    else:
        words = [word.rstrip(_DIGITS) for word in _with_word_breaks(name).lower().split()]
    words = [word for word in words if word]
    return [_singular(word, words[at - 1] if at else "") if word[-1] == "s" else word for at, word in enumerate(words)]


def _with_word_breaks(name: str) -> str:
    """Return a name with blanks at changes of case and in place of punctuation."""
    parted: list[str] = []
    before = ""
    for at, character in enumerate(name):
        if not character.isalnum():
            parted.append(" ")
        elif character.isupper() and (before.islower() or (before.isupper() and name[at + 1 : at + 2].islower())):
            parted.append(" " + character)
        else:
            parted.append(character)
        before = character
    return "".join(parted)


def _singular(word: str, before: str) -> str:
    """Return a plural of secrets in the singular, any other word unchanged."""
    one = word.removesuffix("s")
    if one == word or (one == "token" and before in _COUNTED):
        return word
    return one if one in _PLURAL or one.endswith(_ENDS) else word


def _is_secret_word(words: list[str], at: int) -> bool:
    word, last = words[at], at == len(words) - 1
    before, after = words[at - 1] if at else "", words[at + 1 :]
    if word in _ALWAYS:
        return _DESCRIBED.isdisjoint(after) and not (after and after[-1] == "id" and word != "secret")
    if word == "session" and not last:
        return after[0] in _OF_SESSIONS and _DESCRIBED.isdisjoint(after)
    if word == "pass" and before in _PASSES:
        return False
    if word == "token" and before in _NO_TOKEN:
        return False
    if word in _AT_THE_END:
        return last or (after[0] in _OF_SECRETS and _DESCRIBED.isdisjoint(after))
    if not last:
        return False
    return (
        (word == "key" and bool(before) and before not in _NO_KEY)
        or (word == "code" and before in _CODES)
        or (word == "phrase" and before in _PHRASES)
        or (word == "hash" and before in _HASHES)
        or (len(words) > 1 and _is_secret_alone(word))
    )


def _is_secret_alone(word: str) -> bool:
    """Return whether a compound word such as ``accesstoken`` is secret."""
    if word.endswith(_HARMLESS_ENDS):
        return False
    return word.endswith(_ENDS) or (any(part in word for part in _WITHIN) and not word.endswith(_DESCRIBED_ENDS))
