"""A small geo database, and the errors of ``gatewall geo install``."""

import pytest
from django.core.management import CommandError, call_command

COUNTRIES = {"198.51.100.0/24": {"country": {"iso_code": "NZ"}}, "2001:db8::/32": {"country": {"iso_code": "DE"}}}


def refused(*arguments: object) -> CommandError:
    """Return the error of `geo install`, which is one line."""
    with pytest.raises(CommandError) as caught:
        call_command("geo", "install", *map(str, arguments))
    assert len(str(caught.value).splitlines()) == 1
    return caught.value
