"""Send one HTTP request from the network namespace of a visitor: the request as JSON on stdin, its answer on stdout."""

import http.client
import json
import socket
import ssl
import sys
from typing import Any


class _Https(http.client.HTTPSConnection):
    """HTTPS connection to an address whose certificate must be for a host name."""

    def __init__(self, address: str, name: str, context: ssl.SSLContext) -> None:
        super().__init__(name, timeout=60, context=context)
        self._address, self._name, self._tls = address, name, context

    def connect(self) -> None:
        plain = socket.create_connection((self._address, 443), 60)
        self.sock = self._tls.wrap_socket(plain, server_hostname=self._name)


def send(asked: dict[str, Any]) -> dict[str, Any]:
    """Return status, headers and body of the answer, the last of them as text; status 0 if no connection is made."""
    if asked["tls"]:
        context = ssl.create_default_context(cadata=asked["ca"] or None)
        if not asked["ca"]:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection: http.client.HTTPConnection = _Https(asked["address"], asked["host"].partition(":")[0], context)
    else:
        connection = http.client.HTTPConnection(asked["address"], asked["port"], timeout=60)
    try:
        connection.connect()
    except OSError as error:
        return {"status": 0, "headers": [], "body": str(error)}
    body = asked["body"].encode() if asked["body"] else None
    connection.request(asked["method"], asked["path"], body, {**asked["headers"], "Host": asked["host"]})
    response = connection.getresponse()
    return {"status": response.status, "headers": response.getheaders(), "body": response.read().decode()}


if __name__ == "__main__":
    json.dump(send(json.load(sys.stdin)), sys.stdout)
