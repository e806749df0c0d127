r"""Rewrite a pattern so that it never matches across a line feed.

The values of a request are scanned as lines of one text: such a pattern matches a line exactly if it matches the value.
"""

_NO_LINE_FEED = {"s": r"\t\r\f ", "S": None, "W": None, "D": None}
_ALONE = {"s": r"[\t\r\f ]", "S": r"[^\t\n\r\f ]", "W": r"[^\w\n]", "D": r"[^\d\n]"}


def on_one_line(pattern: str) -> str:
    r"""Return the pattern with classes that exclude the line feed.

    Raises ValueError if impossible: ``\n``, ``[^\W]`` and the like, POSIX classes, ``(?s)``.
    """
    found: list[str] = []
    inside = False
    position = 0
    while position < len(pattern):
        character, following = pattern[position], pattern[position + 1 : position + 2]
        if character == "\\":
            found.append(_escaped(following, inside=inside))
            position += 2
            continue
        if character == "[" and not inside:
            inside = True
            negated = following == "^"
            found.append(r"[^\n" if negated else "[")
            position += 2 if negated else 1
            continue
        if inside and character == "[" and following == ":":
            raise ValueError("a POSIX class may match a line feed")
        inside = inside and character != "]"
        found.append(character)
        position += 1
    return "".join(found)


def _escaped(letter: str, *, inside: bool) -> str:
    if letter in {"n", "A", "z", "C", "Q", "p", "P"}:
        raise ValueError(rf"\{letter} may match a line feed")
    if letter not in _ALONE:
        return "\\" + letter
    if not inside:
        return _ALONE[letter]
    text = _NO_LINE_FEED[letter]
    if text is None:
        raise ValueError(rf"\{letter} in a class may match a line feed")
    return text
