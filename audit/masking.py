"""What is a secret in a target, a header or a host name, and ``***`` in its place. Pure; in linear time.

A secret is known by the name it is sent under (a closed list, below), by its looks (our own tokens, JSON
Web Tokens) or by its place (``user:password@``). Everything is looked at as it was sent and percent-decoded
up to three times. What cannot be told apart from a secret is masked: a mask too many costs a look at the
site's own log, one too few a password.
"""

import re
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
_NAME_PARTS = re.compile(r"[\[\].:/]+")
_NAMED = re.compile(r"(?:^|[?&;#])([^?&;#=]{1,200})=")
_TOKEN = re.compile(r"(?i:gw[gl]_[0-9a-z]{8,})|(?<![\w-])eyJ[\w-]{6,}\.[\w.-]*", re.ASCII)
_LOOKS = ("gwg_", "gwl_", "eyj", "@")
_USER_INFO = re.compile(r"(?<![^\s/@?#&])[^\s/@:?#&]*+:[^\s/@?#&]++@")
"""``user:password@``. It can only begin where a word does, so that nothing is looked at twice."""


def masked_query(query: str) -> str:
    """Return a query string in which the values of secret names, and values that are secrets, are masked."""
    if "=" not in query and not _may_have_secret(query):
        return query
    return "&".join([_masked_argument(part) for part in query.split("&")])


def masked_path(path: str) -> str:
    """Return a path in which segments with a secret, or with a secret parameter (``;jsessionid=x``), are masked."""
    if ";" not in path and "=" not in path and not _may_have_secret(path):
        return path
    return "/".join([_masked_segment(segment) for segment in path.split("/")])


def masked_text(text: str) -> str:
    """Return free text, such as a user agent, in which what looks like a secret is masked."""
    if not _may_have_secret(text):
        return text
    masked = _USER_INFO.sub(f"{MASK}@", _TOKEN.sub(MASK, text))
    # What shows only once it is decoded has no place in the text as it stands.
    return MASK if _is_secret(masked) else masked


def masked_host(host: str) -> str:
    """Return a host name in which labels that are tokens of ours are masked."""
    return _TOKEN.sub(MASK, host) if "gw" in host else host


def _may_have_secret(text: str) -> bool:
    """False if the text surely has none: asked first, for this is on the path of every answer."""
    if "%" in text:
        return True
    small = text.lower()
    return any(look in small for look in _LOOKS)


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
    return any(_TOKEN.search(each) or _USER_INFO.search(each) for each in (text, plain)) or _has_secret_name(plain)


def _has_secret_name(plain: str) -> bool:
    return any(_is_secret_name(name) for name in _NAMED.findall(plain))


def _is_secret_name(plain: str) -> bool:
    if _normal(plain) in _SECRET_NAMES:
        return True
    return any(_normal(part) in _SECRET_NAMES for part in _NAME_PARTS.split(plain))


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
