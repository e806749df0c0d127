"""What is a secret in a target, a header or a host name, and ``***`` in its place. Pure; in linear time.

A secret is known by the name it is sent under (a closed list, below), by its looks (our own tokens, JSON
Web Tokens) or by its place (``user:password@``). Everything is looked at as it was sent and percent-decoded
up to three times. What cannot be told apart from a secret is masked: a mask too many costs a look at the
site's own log, one too few a password.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from string import ascii_letters, digits
from urllib.parse import unquote_plus

MASK = "***"
_DECODING_ROUNDS = 3
_SECRET_NAMES = frozenset(
    {
        *("accesskey", "accesstoken", "apikey", "apisecret", "apitoken", "appsecret", "assertion", "auth"),
        *("authcode", "authorization", "authtoken", "bearer", "challengetoken", "clientassertion", "clientsecret"),
        *("code", "codeverifier", "consumersecret", "cookie", "credential", "credentials", "csrf", "csrftoken"),
        *("csrfmiddlewaretoken", "currentpassword", "gittoken", "idtoken", "jobtoken", "jsessionid", "jwt", "key"),
        *("license", "licensetoken", "newpassword", "oauthsignature", "oauthtoken", "oauthverifier", "oldpassword"),
        *("otp", "pass", "passcode", "passphrase", "passwd", "password", "password1", "password2"),
        *("passwordconfirmation", "passwort", "personalaccesstoken", "phpsessid", "pin", "privatekey"),
        *("privatetoken", "proxyauthorization", "psw", "pwd", "recoverycode", "recoverykey", "refreshtoken"),
        *("samlresponse", "secret", "secretkey", "securitytoken", "serviceauthorization", "servicegittoken"),
        *("servicelicense", "servicetoken", "session", "sessionid", "sessiontoken", "sid", "sig", "signature"),
        *("ticket", "token", "totp", "totpsecret", "webhooktoken", "xamzcredential", "xamzsecuritytoken"),
        *("xamzsignature", "xapikey", "xgoogcredential", "xgoogsignature", "xsrftoken"),
    }
)
"""Names of arguments, in small letters and without ``-``, ``_`` and spaces; ``a[token]`` and ``a.token`` have two."""
_OURS = ("gwg_", "gwl_")
_SHORTEST = 8  # characters behind what a token begins with
_ALPHANUMERIC = frozenset(ascii_letters + digits)
_OF_HEADER = _ALPHANUMERIC | frozenset("_-")  # of a JSON Web Token
_BEFORE_ARGUMENTS = str.maketrans("?;#", "&&&")
_BETWEEN_NAMES = str.maketrans("[].:/", "     ")
_BETWEEN_WORDS = frozenset(" \t\r\n\f\v/@?#&")
_LONGEST_NAME = 200
_SHORT_NAME = 32
_QUOTES = str.maketrans("'<>=", '""""')


def masked_query(query: str) -> str:
    """Return a query string in which the values of secret names, and values that are secrets, are masked."""
    if _may_have_secret(query) or ";" in query:
        return "&".join([_masked_argument(part) for part in query.split("&")])
    return "&".join([_masked_by_name(part) for part in query.split("&")]) if "=" in query else query


def masked_path(path: str) -> str:
    """Return a path in which segments with a secret, or with a secret parameter (``;jsessionid=x``), are masked."""
    if ";" not in path and "=" not in path and not _may_have_secret(path):
        return path
    return "/".join([_masked_segment(segment) for segment in path.split("/")])


def masked_text(text: str) -> str:
    """Return free text, such as a user agent, in which what looks like a secret is masked."""
    if "=" not in text and not _may_have_secret(text):
        return text
    masked = _without(_user_infos, _without(_tokens, text))
    # What shows only once it is decoded has no place in the text as it stands.
    return MASK if _is_secret(masked) else masked


def masked_value(name: str, value: str) -> str:
    """Return what was sent under this name: masked whole if the name says so, else as ``masked_text`` has it.

    Names of headers and cookies are taken apart at ``-`` and ``_`` as well: ``x-auth-token``, ``__Host-session``.
    """
    plain = _decoded(name)
    is_secret = _is_secret_name(plain) or _is_secret_name(plain.replace("-", ".").replace("_", "."))
    return MASK if is_secret else masked_text(value)


def has_secret_field(text: str) -> bool:
    """True if a text has a secret name between quotes or angle brackets, as JSON, multipart forms and XML do."""
    return any(
        _is_secret_name(_decoded(part)) for part in text.translate(_QUOTES).split('"') if len(part) <= _LONGEST_NAME
    )


def masked_host(host: str) -> str:
    """Return a host name in which labels that are tokens of ours are masked."""
    return _without(_tokens, host) if "gw" in host else host


def _may_have_secret(text: str) -> bool:
    """False if the text surely has none: asked first, for this is on the path of every answer."""
    if "%" in text or "@" in text:
        return True
    small = text.lower()
    return "gwg_" in small or "gwl_" in small or "eyj" in small


def _masked_argument(argument: str) -> str:
    """Return an argument with its value masked if it is a secret. Some servers part arguments with ``;`` too."""
    start = 0
    for part in argument.split(";"):
        name, equals, value = part.partition("=")
        if equals and value and _is_secret_name(_decoded(name)):
            return f"{argument[: start + len(name)]}={MASK}"  # a secret may have a ; in it
        start += len(part) + 1
    name, equals, value = argument.partition("=")
    if not equals:
        return MASK if _is_secret(name) else argument
    return f"{MASK if _is_secret(name) else name}={MASK if _is_secret(value) else value}"


def _masked_by_name(argument: str) -> str:
    """Return what ``_masked_argument`` does of an argument in which nothing looks like a secret."""
    name, _, value = argument.partition("=")
    if value and (_is_secret_argument(name) or ("=" in value and _is_secret(value))):
        return f"{name}={MASK}"
    return argument


def _masked_segment(segment: str) -> str:
    plain, semicolon, parameters = segment.partition(";")
    if semicolon and _has_secret_name(_decoded(parameters)):
        return f"{MASK if _is_secret(plain) else plain};{MASK}"
    return MASK if _is_secret(segment) else segment


def _is_secret(text: str) -> bool:
    """True if the text has a secret in it, by its looks, by its place, or as an argument of a URL in it."""
    if not _may_have_secret(text) and "=" not in text:
        return False
    plain = _decoded(text)
    return any(_has(_tokens, each) or _has(_user_infos, each) for each in (text, plain)) or _has_secret_name(plain)


def _has_secret_name(plain: str) -> bool:
    """True if an argument in the text, which may be a URL, has a secret name."""
    for argument in plain.translate(_BEFORE_ARGUMENTS).split("&"):
        name, equals, _ = argument.partition("=")
        if equals and 0 < len(name) <= _LONGEST_NAME and _is_secret_name(name):
            return True
    return False


def _is_secret_name(plain: str) -> bool:
    if _normal(plain) in _SECRET_NAMES:
        return True
    return not _SECRET_NAMES.isdisjoint(map(_normal, plain.translate(_BETWEEN_NAMES).split()))


def _is_secret_argument(name: str) -> bool:
    return _is_secret_short_name(name) if len(name) <= _SHORT_NAME else _is_secret_name(_decoded(name))


@lru_cache(1024)  # a site has few arguments
def _is_secret_short_name(name: str) -> bool:
    return _is_secret_name(_decoded(name))


def _normal(name: str) -> str:
    return name.strip().lower().replace("-", "").replace("_", "").replace(" ", "")


def _decoded(text: str) -> str:
    for _ in range(_DECODING_ROUNDS):
        if "%" not in text and "+" not in text:
            break
        plain = unquote_plus(text)
        if plain == text:
            break
        text = plain
    return text


Spans = Callable[[str], Iterator[tuple[int, int]]]
"""What finds secrets of one look in a text: where each begins and ends, from left to right."""


def _has(spans: Spans, text: str) -> bool:
    return next(spans(text), None) is not None


def _without(spans: Spans, text: str) -> str:
    parts, done = [], 0
    for start, end in spans(text):
        parts += [text[done:start], MASK]
        done = end
    return "".join([*parts, text[done:]])


def _tokens(text: str) -> Iterator[tuple[int, int]]:
    """Find tokens of ours, in any case of letters, and JSON Web Tokens."""
    small, done = text.lower(), 0
    for start in sorted(at for look in (*_OURS, "eyj") for at in _places(small, look)):
        if start < done:
            continue
        end = _end_of_ours(small, start) if small.startswith(_OURS, start) else _end_of_jwt(text, start)
        if end > start:
            yield start, end
            done = end


def _places(text: str, look: str) -> Iterator[int]:
    at = text.find(look)
    while at >= 0:
        yield at
        at = text.find(look, at + 1)


def _end_of_ours(small: str, start: int) -> int:
    """Return where a token ends, or ``start`` if none begins there."""
    first = start + len(_OURS[0])
    end = _end_of_run(small, first, _ALPHANUMERIC)
    return end if end - first >= _SHORTEST else start


def _end_of_jwt(text: str, start: int) -> int:
    """Return where a token ends, or ``start`` if none begins there: in a word, or of one part."""
    if not text.startswith("eyJ", start) or (start and text[start - 1] in _OF_HEADER):
        return start
    dot = _end_of_run(text, start, _OF_HEADER)
    if dot - start <= _SHORTEST or not text.startswith(".", dot):
        return start
    return _end_of_run(text, dot, _OF_HEADER | {"."})


def _end_of_run(text: str, position: int, characters: frozenset[str]) -> int:
    while position < len(text) and text[position] in characters:
        position += 1
    return position


def _user_infos(text: str) -> Iterator[tuple[int, int]]:
    """Find the ``user:password`` before each ``@``, back to where the word begins."""
    word = 0
    for at, character in enumerate(text if "@" in text else ""):
        if character == "@" and 0 <= text.find(":", word, at) < at - 1:
            yield word, at
        if character in _BETWEEN_WORDS or character.isspace():
            word = at + 1
