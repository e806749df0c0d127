"""Results and errors of a block list import."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError

from policies.models import BlocklistEntry


def refusal(import_list: Callable[..., object], text: str, *arguments: Any, **options: Any) -> CommandError:
    with pytest.raises(CommandError) as caught:
        import_list(text, *arguments, **options)
    assert len(str(caught.value).splitlines()) == 1
    return caught.value


def networks(source: str = "import:drop") -> list[str]:
    return sorted(BlocklistEntry.objects.filter(source=source).values_list("network", flat=True))
