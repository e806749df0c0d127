"""Text fields of the API: the pattern in the OpenAPI document and the field accept the same texts."""

import re

import pytest
from rest_framework.exceptions import ValidationError

from gatewall.api.serializers import TextField


@pytest.mark.parametrize("text", ["x", " x", "two\nlines", "\xde\x04", "\x04", "\x0b", " ", "\xa0", "", "x\x00"])
def test_the_pattern_accepts_the_same_texts_as_the_field(text):
    field = TextField()
    taken = re.search(field.openapi["pattern"], text) is not None

    try:
        field.run_validation(text)
    except ValidationError:
        assert not taken
    else:
        assert taken
