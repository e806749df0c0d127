"""Names of devices in a list of sessions: browser and operating system."""

import pytest

from gatewall.engine.devices import name_of


@pytest.mark.parametrize(
    ("user_agent", "name"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox, Linux"),
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0", "Edge, Windows"),
        ("Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36", "Chrome, Android"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1", "Safari, iPhone"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Version/18.0 Safari/605.1.15", "Safari, macOS"),
        ("curl/8.5.0", "curl/8.5.0"),
        ("", ""),
        ("x" * 61, "x" * 59 + "…"),
    ],
)
def test_a_device_is_named_by_its_user_agent(user_agent, name):
    assert name_of(user_agent) == name
