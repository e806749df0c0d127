"""Unit tests have no network."""

import socket

import pytest


def test_unit_test_has_no_network():
    # The block warns before it raises, and a warning is an error here.
    with pytest.raises(UserWarning, match="tried to use socket"):
        socket.socket()
