"""Surviving mutants that do the same as the code: no test can tell them apart. By name, with the reason."""

_NO_ADDRESS = "an address has at most 45 characters, a network four more"
_A_FOLDER = "the parent of a file is a folder, and without a flag it is opened for reading too"
_A_SET = "X is in the set of letters already"
_LOWER = "the secret is in lower case by then: X is next to nothing"
_ONLY_COST = "the rest of the loop changes nothing more: leaving it early saves work"

EQUIVALENT: dict[str, str] = {
    "gatewall/engine/addresses.py parse_address: len(text) > _MAX_TEXT -> len(text) >= _MAX_TEXT": _NO_ADDRESS,
    "gatewall/engine/addresses.py parse_network: len(text) > _MAX_TEXT -> len(text) >= _MAX_TEXT": _NO_ADDRESS,
    "gatewall/engine/addresses.py parse_network: isinstance(network, IPv6Network) and network.prefixlen >= 96 -> "
    "isinstance(network, IPv6Network) or network.prefixlen >= 96": (
        "IPv4 has no prefix of 96, and a shorter IPv6 one cannot end in a mapped address without host bits"
    ),
    "gatewall/engine/hosts.py Host._parse_literal: len(text) > _MAX_NAME -> len(text) >= _MAX_NAME": _NO_ADDRESS,
    "gatewall/engine/lists.py IPLists._most_specific_blocked: break -> continue": (
        "entries come the longest prefix first, and only a longer one replaces the best"
    ),
    "gatewall/engine/lists.py IPLists._most_specific_allowed: break -> continue": (
        "entries come the longest prefix first: all behind the first shorter one are shorter too"
    ),
    "gatewall/engine/waf/transforms.py _base64_decode: {45, 95} & set(value) -> {45, 95} | set(value)": (
        "with altchars the standard letters count as well: it is asked for values that have none of - and _ too"
    ),
    "gatewall/engine/waf/forms.py decode: break -> continue": _ONLY_COST,
    "gatewall/engine/waf/forms.py decode: break -> continue #2": _ONLY_COST,
    "gatewall/engine/waf/forms.py Views.of: values = self._values.get(target) -> values = None": (
        "values are kept to be worked out once; again they are the same"
    ),
    "gatewall/credentials/keyring.py (module): '-_.' -> 'XX-_.'": _A_SET,
    "gatewall/credentials/keyfiles.py make_missing: 448 -> 449 #2": "the next line sets the mode again",
    "gatewall/credentials/sealing.py _parts: '' -> 'XX'": "what stands for a text that is too long is refused as well",
    "gatewall/credentials/sealing.py _parts: '' -> 'XX' #2": "the middle part is not read",
    "gatewall/credentials/sealing.py _parts: '' -> 'XX' #3": "the version is refused before the body is read",
    "gatewall/engine/addresses.py (module): 64 -> 65": _NO_ADDRESS,
    "gatewall/engine/hosts.py (module): 'abcdefghijklmnopqrstuvwxyz0123456789-_' -> "
    "'XXabcdefghijklmnopqrstuvwxyz0123456789-_'": "a name is in lower case by then",
    "gatewall/credentials/weak.py (module): 'qwertyuiop' -> 'XXqwertyuiop'": _LOWER,
    "gatewall/credentials/weak.py (module): 'asdfghjkl' -> 'XXasdfghjkl'": _LOWER,
    "gatewall/credentials/weak.py (module): 'zxcvbnm' -> 'XXzxcvbnm'": _LOWER,
    "gatewall/credentials/weak.py (module): 'qwertzuiop' -> 'XXqwertzuiop'": _LOWER,
    "gatewall/credentials/weak.py (module): 'azertyuiop' -> 'XXazertyuiop'": _LOWER,
    "gatewall/credentials/weak.py (module): '1234567890' -> 'XX1234567890'": _LOWER,
    "gatewall/engine/hosts.py (module): 1024 -> 1025": (
        "idna refuses what has over 1,024 characters too, and in ASCII 253 are the limit"
    ),
    "gatewall/credentials/ringfile.py held: os.O_RDONLY | os.O_DIRECTORY -> os.O_RDONLY & os.O_DIRECTORY": _A_FOLDER,
    "gatewall/credentials/ringfile.py _sync_folder: os.O_RDONLY | os.O_DIRECTORY -> os.O_RDONLY & os.O_DIRECTORY": (
        _A_FOLDER
    ),
    "accounts/sign_in/throttling.py blocked_until: 32 -> 33": (
        "2 ** 32 of the smallest delay, a microsecond, is more than the longest: the bound keeps numbers small"
    ),
    "accounts/sign_in/throttling.py prune: True -> False": "SQLite, over which this runs, has no row locks to skip",
    "accounts/sign_in/throttling.py (module): '' -> 'XX'": "neither is a scope, so nothing is forgotten",
    "gatewall/credentials/sessions.py _key_name: b'' -> b'XX'": "neither is JSON",
}
