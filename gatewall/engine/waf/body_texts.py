"""Text in request bodies: the parts of a multipart form, and readable runs in binary files. No I/O."""

MAX_PARTS = 64
"""Multipart parts that are separated; further ones belong to the last."""
_SHORTEST_RUN = 24  # shorter ones occur by chance, as in compressed files or palettes
_READABLE = bytes([9, *range(32, 127)])
_UNREADABLE_ENDS_RUN = bytes.maketrans(
    bytes(each for each in range(256) if each not in _READABLE),
    b"\n" * (256 - len(_READABLE)),
)
_BETWEEN_RUNS = "\x02"  # in no pattern, and not white space
_TEXT = ("text/", "application/xml", "application/xhtml", "application/json", "application/javascript")


def of_multipart(text: str, content_type: str) -> list[tuple[str, str]]:
    """Return head and content of each part, of a file only its readable text; without a boundary, one part."""
    boundary = content_type.partition("boundary=")[2].partition(";")[0].strip(' "')
    parts = text.split("--" + boundary, MAX_PARTS) if boundary else [text]
    found = []
    for part in parts:
        head, _, content = part.partition("\r\n\r\n")
        content = content.removesuffix("\r\n")
        found.append((head.strip(), readable(content) if "filename" in head.lower() else content))
    return found


def of_other(text: str, media_type: str) -> str:
    """Return the text of a body that is no form: all of it for a text type, else what is readable."""
    is_text = not media_type or media_type.startswith(_TEXT) or media_type.endswith(("+xml", "+json"))
    return text if is_text else readable(text)


def readable(text: str) -> str:
    """Return a file's text (latin-1): all of it if it is UTF-8 without NULs, else its long runs of ASCII.

    Random bytes of an image or archive look like attacks; an injected attack is longer than chance.
    """
    data = text.encode("latin-1")
    if b"\x00" not in data:
        try:
            data[:-3].decode()  # the end may be cut within a character
        except UnicodeDecodeError:
            pass
        else:
            return text
    runs = [run for run in data.translate(_UNREADABLE_ENDS_RUN).split(b"\n") if len(run) >= _SHORTEST_RUN]
    return _BETWEEN_RUNS.join([run.decode("ascii") for run in runs])
