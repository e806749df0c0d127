"""Invalid policy documents, with words of the error for each."""

_BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
_RULES = "waf_rules:\n- {name: one, pattern: a, targets: [uri]}\n- {name: one, pattern: b, targets: [uri]}\n"
BAD = {
    "nothing": ("", "the document is empty"),
    "a text": ("policy", "a document is an object"),
    "a list": ("- version: 1", "a document is an object"),
    "half a document": ("version: 1\ndomains: [{name: a.example", "not YAML"),
    "two documents": ("version: 1\n---\nversion: 1\n", "a second document"),
    "an alias bomb": (f"version: 1\n{_BOMB}", "anchors and aliases"),
    "a merge bomb": ("version: 1\nsettings:\n  <<: {contact: me}\n", "merge keys"),
    "a tag": ("version: 1\nsettings: !!python/object/apply:os.system [id]\n", "tags"),
    "ten thousand levels": ("version: " + "[" * 10_000, "nested too deeply"),
    "a duplicate key": ("version: 1\ndomains: []\ndomains: []\n", "the key 'domains' is given twice"),
    "a duplicate field": ("version: 1\ndomains:\n- {name: a.example, access: public, access: denied}\n", "twice"),
    "a control character": ("version: 1\nsettings: {contact: 'a\x07b'}\n", "U+0007"),
    "no version": ("domains: []\n", "is missing"),
    "another version": ("version: 2\n", "version 1 of the document, not 2"),
    "a version that is a text": ("version: '1'\n", "version 1 of the document"),
    "an unknown section": ("version: 1\nusers: []\n", "unknown section 'users'"),
    "a domain that is not defined": (
        "version: 1\ndomains: []\naccess_rules:\n- {name: a, access: denied, domains: [no.example]}\n",
        "no.example",
    ),
    "a group that is not defined": (
        "version: 1\ngroups: []\naccess_rules:\n- {name: a, access: denied, groups: [nobody]}\n",
        "nobody",
    ),
    "a user who does not exist": ("version: 1\naccess_rules:\n- {name: a, access: denied, users: [Zoe]}\n", "Zoe"),
    "two access rules of one name": (
        "version: 1\naccess_rules:\n- {name: a, access: denied}\n- {name: a, access: two_factor}\n",
        "a is listed already, as entry 1",
    ),
    "two WAF rules of one name": (f"version: 1\n{_RULES}", "one is listed already, as entry 1"),
    "a pattern that does not compile": (
        "version: 1\nwaf_rules:\n- {name: a, pattern: '(', operator: regex, targets: [uri]}\n",
        "/waf_rules/0/pattern",
    ),
    "more networks than a list has": (
        "version: 1\nblocklist: [" + "a," * 50_001 + "]\n",
        "longer lists of networks belong to a list subscription",
    ),
}
MILLION = "version: 1\nblocklist: [" + "a," * 1_000_000 + "]\n"
