"""Built-in rules that inspect texts, files and raw forms in a body.

A rule that needs a single line, or markup as a context, has false positives in documents and source code.
"""

from gatewall.engine.waf.builtin import BUILTIN_RULES
from gatewall.engine.waf.rules import BodyRegion, Region, Target, WafRule

_WEAK_IN_TEXT = """
    sqli-tautology sqli-comparison sqli-quote-operator sqli-stacked-query sqli-cast sqli-select-columns sqli-select-from
    sqli-select-list sqli-subquery sqli-dangerous-function sqli-function-call sqli-conditional sqli-data-change
    sqli-schema-change sqli-hex-string sqli-broken-quote sqli-quoted-null sqli-catalogue
    sqli-comment-end sqli-execute xss-style-script rce-alias injection-xml-entity
    xss-element xss-loading-element xss-odd-element xss-closing-quote xss-script-call xss-script-text xss-alert
    xss-page-access xss-dom-write
    traversal-dot-dot traversal-dotted-hex traversal-system-file traversal-secret-name traversal-url-file
    traversal-nul-byte traversal-config-name
    rce-shell-command rce-known-command rce-separated-command rce-shell-path rce-substitution rce-redirection
    rce-wildcard-path rce-broken-word rce-windows-command rce-batch rce-shell-arithmetic rce-interpreter rce-download
    rce-reverse-shell
    injection-php-function injection-php-named-call injection-php-variable-call injection-java-expression
    injection-template injection-python-object injection-node-code injection-nosql injection-mail injection-xpath
    ssrf-scheme ssrf-local-address ssrf-private-address
    protocol-header-injection protocol-open-redirect
    sqli-weak-sign xss-weak-sign injection-weak-sign sqli-version-comment ssrf-remote-file
    xss-spaced-element
    """
_NOT_IN_TEXT = frozenset(_WEAK_IN_TEXT.split())
"""Rules with weak signs in documents: English words, names of files and functions, HTML, lines of mail and HTTP.

Also rules that match a value as a whole, which a text never is.
"""
_IN_FILES = frozenset({"injection-php-code", "injection-jndi-lookup", "injection-java-object", "injection-php-object"})
"""Only rules for content that a site may run when it stores or parses the file."""
_IN_FORMS = frozenset({"traversal-encoded-dots"})
_ALL = frozenset(BodyRegion)


def _regions(key: str) -> frozenset[Region]:
    inspects = {
        BodyRegion.TEXT: key not in _NOT_IN_TEXT,
        BodyRegion.FILE: key in _IN_FILES,
        BodyRegion.RAW: key in _IN_FORMS,
        BodyRegion.HEAD: key not in _NOT_IN_TEXT,
    }
    return frozenset(region for region, yes in inspects.items() if yes)


_REGIONS = {rule.pattern: _regions(rule.key) for rule in BUILTIN_RULES}


IN_TEXT = tuple(
    [
        number
        for number, rule in enumerate(BUILTIN_RULES)
        if Target.BODY in rule.targets and rule.key not in _NOT_IN_TEXT
    ]
)
"""Numbers of the rules that inspect texts; those that inspect files are among them.

Rules on other targets only are left out: the scan of a text costs two thirds less without them.
"""
IN_FILE = tuple([number for number in IN_TEXT if BUILTIN_RULES[number].key in _IN_FILES])
"""Numbers of the rules that inspect files: a scan for them costs a tenth of a scan for the rules of texts."""


def regions_of(rule: WafRule) -> frozenset[Region]:
    """Return a rule's targets; for a rule on the body or the raw URI, with the regions of the body that it inspects."""
    targets: frozenset[Region] = frozenset(rule.targets)
    if not rule.builtin or targets.isdisjoint({Target.BODY, Target.URI}):
        return targets
    regions = _REGIONS.get(rule.pattern, _ALL)
    return targets | (regions if Target.BODY in targets else regions & {BodyRegion.RAW})
