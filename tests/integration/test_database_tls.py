"""The TLS options of DATABASE_URL are enforced with a real PostgreSQL, or no connection is made."""

import datetime as dt
import select
import socket
import socketserver
import ssl
import threading
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from urllib.parse import quote, urlsplit

import psycopg
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from gatewall.database.postgresql.base import DatabaseWrapper
from gatewall.kernel import env_database
from tests.postgres import server

SSL_REQUEST = (8).to_bytes(4, "big") + (80877103).to_bytes(4, "big")


class Authority:
    """A certificate authority for the tests."""

    def __init__(self, folder, name):
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.file = folder / f"{name}.pem"
        self.file.write_bytes(pem(self._sign(self._name, self._key, x509.BasicConstraints(ca=True, path_length=0))))

    def issue(self, address):
        """Return the certificate of a server with this address, and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "db")])
        names = x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))])
        return pem(self._sign(subject, key, names)), key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    def _sign(self, subject, key, extension):
        now = dt.datetime.now(dt.UTC)
        builder = x509.CertificateBuilder(self._name, subject, key.public_key(), x509.random_serial_number())
        dated = builder.not_valid_before(now - dt.timedelta(hours=1)).not_valid_after(now + dt.timedelta(days=1))
        return dated.add_extension(extension, critical=True).sign(self._key, hashes.SHA256())


def pem(certificate):
    return certificate.public_bytes(serialization.Encoding.PEM)


@pytest.fixture(scope="module")
def authorities(tmp_path_factory):
    folder = tmp_path_factory.mktemp("authorities")
    return {name: Authority(folder, name) for name in ("ours", "other")}


class Behind(socketserver.BaseRequestHandler):
    """Terminate TLS of a connection to a PostgreSQL, since the PostgreSQL of the tests is built without TLS."""

    def handle(self):
        with suppress(OSError):  # a client that does not trust us hangs up
            assert self.request.recv(len(SSL_REQUEST)) == SSL_REQUEST
            self.request.sendall(b"S")
            with (
                self.server.context.wrap_socket(self.request, server_side=True) as near,
                socket.create_connection(("127.0.0.1", self.server.target)) as far,
            ):
                carry(near, far)


def carry(near, far):
    """Forward bytes between two sockets until one of them is closed."""
    other = {near: far, far: near}
    while True:
        for side in select.select(list(other), [], [])[0]:
            data = side.recv(65536)
            if not data:
                return
            other[side].sendall(data)


@contextmanager
def in_tls(target, certificate, key):
    """Yield a port that accepts TLS for the PostgreSQL at another port."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Behind) as front:
        front.target, front.context = target, ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        front.context.load_cert_chain(certificate, key)
        thread = threading.Thread(target=front.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield front.server_address[1]
        finally:
            front.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def plain():
    """Return the DATABASE_URL of a server without TLS."""
    with server() as running:
        yield running.url


@pytest.fixture(scope="module")
def url(plain, authorities, tmp_path_factory):
    """Return the DATABASE_URL of a server with TLS and a certificate of our authority for 127.0.0.1."""
    certificate, key = (tmp_path_factory.mktemp("server") / name for name in ("server.crt", "server.key"))
    for file, text in zip((certificate, key), authorities["ours"].issue("127.0.0.1"), strict=True):
        file.write_bytes(text)
    port = urlsplit(plain).port
    with in_tls(port, certificate, key) as front:
        yield plain.replace(f":{port}/", f":{front}/")


def speaks_tls(url, **parameters):
    """Connect as Django does with this DATABASE_URL; return whether the connection is encrypted."""
    query = "&".join(f"{name}={quote(str(value))}" for name, value in parameters.items())
    described = env_database.database(f"{url}?{query}")
    wrapper = DatabaseWrapper({"TIME_ZONE": None, "PATIENCE_SECONDS": 3, **described})
    connection = wrapper.get_new_connection(wrapper.get_connection_params())
    with connection:
        assert connection.execute("SELECT 7").fetchone() == (7,)
        return connection.pgconn.ssl_in_use


def test_a_server_with_a_certificate_of_the_authority_is_connected_to_over_tls(url, authorities):
    assert speaks_tls(url, sslmode="verify-full", sslrootcert=authorities["ours"].file)


def test_a_server_with_a_certificate_of_another_authority_is_refused(url, authorities):
    with pytest.raises(psycopg.OperationalError, match="certificate verify failed"):
        speaks_tls(url, sslmode="verify-full", sslrootcert=authorities["other"].file)


def test_a_server_whose_name_differs_from_its_certificate_is_refused(url, authorities):
    named = url.replace("@127.0.0.1:", "@localhost:")

    assert speaks_tls(named, sslmode="verify-ca", sslrootcert=authorities["ours"].file)
    with pytest.raises(psycopg.OperationalError, match='does not match host name "localhost"'):
        speaks_tls(named, sslmode="verify-full", sslrootcert=authorities["ours"].file)


def test_a_server_that_offers_no_tls_is_refused_where_tls_is_asked_for(plain):
    assert not speaks_tls(plain, sslmode="prefer")
    with pytest.raises(psycopg.OperationalError, match="server does not support SSL"):
        speaks_tls(plain, sslmode="require")
