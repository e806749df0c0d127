"""DNS server like the one in each container: ``dns.py FILE`` answers at 127.0.0.11 from a JSON file.

The file maps names to addresses and is read for each query, so that a restarted service is found.
"""

import json
import socket
import struct
import sys
from pathlib import Path

_ADDRESS, _NAME_ERROR, _HEAD = 1, 3, 12


def answer(question: bytes, names: dict[str, str]) -> bytes:
    """Return the answer to a question of one name."""
    at, labels = _HEAD, []
    while length := question[at]:
        labels.append(question[at + 1 : at + 1 + length].decode().lower())
        at += length + 1
    (kind,) = struct.unpack("!H", question[at + 1 : at + 3])
    asked, address = question[_HEAD : at + 5], names.get(".".join(labels))
    records = b""
    if address is not None and kind == _ADDRESS:
        records = b"\xc0\x0c" + struct.pack("!HHIH", _ADDRESS, 1, 1, 4) + socket.inet_aton(address)
    flags = 0x8180 | (_NAME_ERROR if address is None else 0)
    return question[:2] + struct.pack("!HHHHH", flags, 1, bool(records), 0, 0) + asked + records


def main(file: Path) -> None:
    """Answer queries until the process is killed."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.11", 53))
        while True:
            question, peer = server.recvfrom(4096)
            server.sendto(answer(question, json.loads(file.read_text())), peer)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
