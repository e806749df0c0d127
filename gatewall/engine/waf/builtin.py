"""The rules that come with Gatewall. Own patterns, written against RE2; data only.

A built-in rule is known by its key, for ever: rows refer to it, and a key is never reused.
"""

from dataclasses import dataclass

from gatewall.engine.waf.rules import Category, Severity, Target, Transform

_DECODED = (Target.PATH, Target.ARGS, Target.ARG_NAMES)
_CODE = (*_DECODED, Target.COOKIES, Target.REFERER, Target.USER_AGENT)
_SQL = (Target.ARGS, Target.ARG_NAMES, Target.COOKIES)


@dataclass(frozen=True, slots=True)
class BuiltinRule:
    """One rule of the set; ``reason`` tells the operator what a match means.

    Whatever the pattern matches has one of ``needs`` in it, once in lower case: the pattern is not
    tried on anything else.
    """

    key: str
    pattern: str
    category: Category
    severity: Severity
    targets: tuple[Target, ...]
    reason: str
    needs: tuple[bytes, ...]
    transforms: tuple[Transform, ...] = ()
    score: int = 5


BUILTIN_RULES: tuple[BuiltinRule, ...] = (
    BuiltinRule(
        "sqli-union-select",
        r"(?i)\bunion\b(?:\s|/\*.{0,40}?\*/|\+|\()+(?:all\b|distinct\b)?(?:\s|/\*.{0,40}?\*/|\+|\()*select\b",
        Category.SQLI,
        Severity.CRITICAL,
        _SQL,
        "UNION SELECT appends the attacker's rows to a query",
        (b"union",),
    ),
    BuiltinRule(
        "sqli-tautology",
        r"""(?i)['"]\s*(?:\)\s*)*(?:or|and|\|\||&&)\s*(?:\(\s*)*(?:'[^']{0,32}'|"[^"]{0,32}"|\d{1,9})\s*(?:=|<|>|like\b)""",
        Category.SQLI,
        Severity.CRITICAL,
        _SQL,
        "a quote followed by a comparison that is always true",
        (b"'", b'"'),
    ),
    BuiltinRule(
        "sqli-stacked-query",
        r"(?i);\s*(?:drop|alter|create|truncate)\s+(?:table|database|user|schema)\b"
        r"|;\s*(?:insert\s+into|delete\s+from|update\s+\w{1,64}\s+set|exec(?:ute)?\s+(?:xp|sp)_)",
        Category.SQLI,
        Severity.CRITICAL,
        _SQL,
        "a second statement behind a semicolon",
        (b";",),
    ),
    BuiltinRule(
        "sqli-time-delay",
        r"(?i)\b(?:sleep|pg_sleep|benchmark)\s*\(\s*[\d']|\bwaitfor\s+delay\s*'",
        Category.SQLI,
        Severity.HIGH,
        _SQL,
        "a delay function, used to read a database through its answer time",
        (b"sleep", b"benchmark", b"waitfor"),
    ),
    BuiltinRule(
        "xss-script-tag",
        r"(?i)<\s*/?\s*script\b[^>]{0,200}>?",
        Category.XSS,
        Severity.HIGH,
        _CODE,
        "a script element in a value",
        (b"<",),
        (Transform.HTML_DECODE, Transform.REMOVE_NULS),
    ),
    BuiltinRule(
        "xss-event-handler",
        r"(?i)<[a-z][^>]{0,300}[\s/'\"]on[a-z]{3,24}\s*=",
        Category.XSS,
        Severity.HIGH,
        _CODE,
        "an element with an event handler",
        (b"<",),
        (Transform.HTML_DECODE, Transform.REMOVE_NULS),
    ),
    BuiltinRule(
        "xss-script-url",
        r"(?i)(?:href|src|action|formaction|data)\s*=\s*['\"]?\s*(?:java|vb)script\s*:",
        Category.XSS,
        Severity.HIGH,
        _CODE,
        "an attribute that runs a script URL",
        (b"script",),
        (Transform.HTML_DECODE, Transform.REMOVE_NULS),
    ),
    BuiltinRule(
        "traversal-dot-dot",
        r"(?:^|[/\\=\f])\.\.(?:;[^/\\]{0,32})?[/\\]|[/\\]\.\.(?:;[^/\\\f]{0,32})?(?:\f|$)",
        Category.TRAVERSAL,
        Severity.HIGH,
        _DECODED,
        "a path that climbs out of its folder",
        (b"..",),
        (Transform.REMOVE_NULS,),
    ),
    BuiltinRule(
        "traversal-system-file",
        r"(?i)[/\\]etc[/\\](?:passwd|shadow|hosts|group)\b|[/\\]proc[/\\]self[/\\]|\bboot\.ini\b"
        r"|[/\\]windows[/\\](?:win\.ini|system32)",
        Category.TRAVERSAL,
        Severity.HIGH,
        _DECODED,
        "the name of a system file that is read first after a break-in",
        (b"etc", b"proc", b"boot.ini", b"windows"),
    ),
    BuiltinRule(
        "traversal-nul-byte",
        r"\x00",
        Category.TRAVERSAL,
        Severity.HIGH,
        _DECODED,
        "a NUL byte, which ends a file name early in some programs",
        (b"\0",),
    ),
    BuiltinRule(
        "rce-shell-command",
        r"(?i)(?:[;|`]|&&|\$\(|\n)\s*(?:/usr)?(?:/s?bin/)?"
        r"(?:cat|ls|id|whoami|uname|wget|curl|nc|ncat|bash|sh|zsh|python[23]?|perl|ping|nslookup|powershell)"
        r"(?:[\s|;&`)<>]|$)",
        Category.RCE,
        Severity.CRITICAL,
        (Target.ARGS, Target.COOKIES, Target.USER_AGENT),
        "a shell command behind a separator",
        (b";", b"|", b"`", b"&&", b"$(", b"\n"),
    ),
    BuiltinRule(
        "rce-shellshock",
        r"\(\)\s*\{[^}]{0,100}\}\s*;",
        Category.RCE,
        Severity.CRITICAL,
        (Target.HEADERS, Target.ARGS),
        "a function definition that old bash versions run (CVE-2014-6271)",
        (b"()",),
    ),
    BuiltinRule(
        "injection-jndi-lookup",
        r"(?i)\$\{\s*(?:jndi|(?:lower|upper|env|sys|date|::-)[^}]{0,40}\}?[^}]{0,60}(?:jndi|\$\{)"
        r"|[^}]{0,20}\$\{\s*(?:lower|upper|env|sys|date|::-))",
        Category.INJECTION,
        Severity.CRITICAL,
        (Target.HEADERS, *_DECODED),
        "a Log4j look-up (CVE-2021-44228)",
        (b"${",),
    ),
    BuiltinRule(
        "injection-php-code",
        r"(?i)<\?(?:php|=)|\bphp://(?:input|filter|stdin)|\b(?:allow_url_include|auto_prepend_file)\s*=",
        Category.INJECTION,
        Severity.CRITICAL,
        _DECODED,
        "PHP code, or a PHP wrapper that runs what was sent",
        (b"<?", b"php://", b"allow_url_include", b"auto_prepend_file"),
    ),
    BuiltinRule(
        "ssrf-metadata-service",
        r"(?i)\b(?:https?|gopher|dict|file)://(?:169\.254\.169\.254|metadata\.google\.internal|100\.100\.100\.200|\[?fd00:ec2::254)",
        Category.SSRF,
        Severity.CRITICAL,
        (Target.ARGS,),
        "the address of a cloud's metadata service",
        (b"169.254.", b"metadata.", b"100.100.", b"fd00:"),
    ),
    BuiltinRule(
        "scanner-user-agent",
        r"(?i)\b(?:sqlmap|nikto|nessus|acunetix|netsparker|dirbuster|gobuster|wpscan|nuclei|masscan|zgrab|havij)\b",
        Category.SCANNER,
        Severity.MEDIUM,
        (Target.USER_AGENT,),
        "a vulnerability scanner that names itself",
        (
            b"sqlmap",
            b"nikto",
            b"nessus",
            b"acunetix",
            b"netsparker",
            b"dirbuster",
            b"gobuster",
            b"wpscan",
            b"nuclei",
            b"masscan",
            b"zgrab",
            b"havij",
        ),
    ),
    BuiltinRule(
        "scanner-secret-file",
        r"(?i)/\.(?:git/(?:config|HEAD|index)|env(?:\.[a-z]{1,16})?|aws/credentials|ssh/id_[a-z0-9]{2,10}|htpasswd|svn/entries)$",
        Category.SCANNER,
        Severity.MEDIUM,
        (Target.PATH,),
        "a file that holds secrets and is never linked",
        (b"/.",),
    ),
    BuiltinRule(
        "protocol-header-injection",
        r"(?i)[\r\n]\s*(?:set-cookie|location|content-(?:type|length)|http/1\.[01])\s*:?",
        Category.PROTOCOL,
        Severity.HIGH,
        (Target.ARGS, Target.PATH),
        "a line break followed by a header, to split a response",
        (b"\r", b"\n"),
    ),
)
