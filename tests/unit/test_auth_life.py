"""Unix sockets of the data plane: unusable paths are refused before the start."""

import pytest

from gatewall.install.ports import PortTakenError, require_free_socket


def test_a_file_that_is_no_socket_is_refused_and_kept(tmp_path):
    path = tmp_path / "precious"
    path.write_text("precious")

    with pytest.raises(PortTakenError, match="GATEWALL_AUTH_SOCKET"):
        require_free_socket(path, "GATEWALL_AUTH_SOCKET")

    assert path.read_text() == "precious"


def test_a_socket_in_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(PortTakenError, match="no folder"):
        require_free_socket(tmp_path / "missing" / "auth.sock", "GATEWALL_AUTH_SOCKET")
