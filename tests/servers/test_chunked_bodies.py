"""A chunked body, through a real server: it is refused, and never treated as empty."""

import http.client
import json

from gatewall.install.ports import free_port
from tests.support.processes import PASSWORD, PATIENCE, control_plane, prepare, request

SIGN_IN = json.dumps({"username": "admin", "password": PASSWORD}).encode()


def in_chunks(port, path, *parts):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        headers = {"Content-Type": "application/json"}
        connection.request("POST", path, body=iter(parts), headers=headers, encode_chunked=True)
        response = connection.getresponse()
        return response.status, json.loads(response.read())["code"]
    finally:
        connection.close()


def test_body_in_chunks_is_refused_and_the_server_goes_on(tmp_path):
    port = free_port()
    prepare(tmp_path)
    with control_plane(tmp_path, port, GATEWALL_WORKERS="1"):
        answers = [
            in_chunks(port, "/wall/login", SIGN_IN),
            in_chunks(port, "/wall/login", b"{", b"}"),
            in_chunks(port, "/wall/", b"x" * 65_536, b"y" * 65_536),
        ]

        assert answers == [(411, "length-required")] * 3
        assert request(port, "/wall/health/ready").status == 200
        length = {"Content-Length": str(1 << 40), "Content-Type": "multipart/form-data; boundary=x"}
        assert request(port, "/wall/", length, method="POST").status == 413
