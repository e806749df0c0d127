"""Reads the access log through the API."""


def listed(client, **parameters):
    response = client.get("/access-logs", parameters)
    assert response.status_code == 200, response.json()
    return response.json()


def numbers(page):
    return [int(row["decision_id"][-4:]) for row in page["results"]]
