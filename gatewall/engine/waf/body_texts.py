"""What of a body is text: the parts of a form, and what can be read in a file that is none. No I/O."""

MAX_PARTS = 64
"""How many parts of a multipart body are told apart; those behind belong to the last."""
_SHORTEST_RUN = 24  # what a shorter one says is chance: a packed file or a palette has plenty
_READABLE = bytes([9, *range(32, 127)])
_UNREADABLE_ENDS_RUN = bytes.maketrans(
    bytes(each for each in range(256) if each not in _READABLE),
    b"\n" * (256 - len(_READABLE)),
)
_BETWEEN_RUNS = "\x02"  # in no pattern, and no white space
_TEXT = ("text/", "application/xml", "application/xhtml", "application/json", "application/javascript")


def of_multipart(text: str, content_type: str) -> list[tuple[str, str]]:
    """Return the head and the content of each part; of a file only what can be read in it.

    Whatever has no boundary is one part.
    """
    boundary = content_type.partition("boundary=")[2].partition(";")[0].strip(' "')
    parts = text.split("--" + boundary, MAX_PARTS) if boundary else [text]
    found = []
    for part in parts:
        head, _, content = part.partition("\r\n\r\n")
        content = content.removesuffix("\r\n")
        found.append((head.strip(), readable(content) if "filename" in head.lower() else content))
    return found


def of_other(text: str, media_type: str) -> str:
    """Return a body that is no form: all of it if its type is one of text, else what can be read in it."""
    is_text = not media_type or media_type.startswith(_TEXT) or media_type.endswith(("+xml", "+json"))
    return text if is_text else readable(text)


def readable(text: str) -> str:
    """Return the content of a file (latin-1): all of it if it is UTF-8 without control bytes, else its runs of ASCII.

    In an image or archive everything looks like an attack; what an attacker puts into one is longer than chance.
    """
    data = text.encode("latin-1")
    if b"\x00" not in data:
        try:
            data[:-3].decode()  # it may have been cut within a character
        except UnicodeDecodeError:
            pass
        else:
            return text
    runs = [run for run in data.translate(_UNREADABLE_ENDS_RUN).split(b"\n") if len(run) >= _SHORTEST_RUN]
    return _BETWEEN_RUNS.join([run.decode("ascii") for run in runs])
