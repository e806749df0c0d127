"""The log of a process: JSON on stdout or plain lines on stderr, always one line per record."""

import json
import logging
import logging.config
import sys

import pytest

from gatewall.kernel import log_lines


@pytest.fixture
def logger():
    """Return a logger that is configured for this test only."""
    root = logging.getLogger()
    before = root.handlers[:], root.level
    yield logging.getLogger("gatewall.test")
    root.handlers[:], root.level = before


def configure(form):
    logging.config.dictConfig(log_lines.configuration("INFO", form))


def test_json_is_one_object_a_line_on_stdout(logger, capsys):
    configure(log_lines.JSON)

    logger.warning("a %s\nsecond line", "text\u2028\x1b")

    out, err = capsys.readouterr()
    (line,) = out.splitlines()
    fields = json.loads(line)
    assert err == ""
    assert (fields["level"], fields["logger"]) == ("WARNING", "gatewall.test")
    assert fields["message"] == "a text\u2028\x1b\nsecond line"
    assert fields["at"].endswith("Z")
    assert set(fields) == {"at", "level", "logger", "message"}


def test_an_exception_is_a_field(logger, capsys):
    configure(log_lines.JSON)

    try:
        sys.exit("no")
    except SystemExit:
        logger.exception("failed")

    (line,) = capsys.readouterr().out.splitlines()
    assert "SystemExit: no" in json.loads(line)["exception"]


def test_readable_lines_go_to_stderr(logger, capsys):
    configure(log_lines.LINE)

    logger.info("hello")
    logger.debug("not shown")

    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith(" INFO gatewall.test hello\n")
    assert len(err.splitlines()) == 1
