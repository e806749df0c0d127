"""Read the access log through the API."""

from collections.abc import Mapping
from typing import Any

from tests.support.proxies import Api


def listed(client: Api, **parameters: Any) -> Any:
    response = client.get("/access-logs", parameters)
    assert response.status_code == 200, response.json()
    return response.json()


def numbers(page: Mapping[str, Any]) -> list[int]:
    return [int(row["decision_id"][-4:]) for row in page["results"]]
