"""Helpers of the passkey tests: registration, sign-in, the reasons of refusals, and invalid answers."""

from accounts import services
from accounts.models import Passkey
from audit.models import SecurityEvent
from tests.support.authenticator import PRESENT, Authenticator
from tests.support.proxies import Api

ORIGIN = "https://wall.example.com"


def register(client, user, authenticator, name="phone", **reauthentication):
    """Register the authenticator; return the response."""
    begun = client.post(f"/users/{user.pk}/passkeys/register/begin", reauthentication)
    if begun.status_code != 200:
        return begun
    answer = authenticator.create(begun.json()["public_key"])
    return client.post(f"/users/{user.pk}/passkeys/register/finish", {"name": name, "credential": answer})


def begin(client, door="/login", **body):
    begun = client.post(f"{door}/passkey/begin", body)
    assert begun.status_code == 200, begun.json()
    return begun.json()["public_key"]


def sign_in(authenticator, door="/login", client=None, **body):
    client = client or Api()
    answer = authenticator.get(begin(client, door, **body))
    return client.post(f"{door}/passkey/finish", {"credential": answer, **body})


def refusals():
    """Return the reasons of refused passkeys, oldest first."""
    return [event.detail["why"] for event in SecurityEvent.objects.filter(kind="passkey.refused").order_by("pk")]


def wrong_flags(authenticator):
    authenticator.flags = PRESENT


def wrong_origin(authenticator):
    authenticator.origin = "https://wall.example.org"


def wrong_domain(authenticator):
    authenticator.rp_id = "example.org"


def cloned(authenticator):
    authenticator.counter = 0
    authenticator.counts = False
    Passkey.objects.update(sign_count=7)


def unknown(authenticator):
    authenticator.credential_id = b"another credential"


def of_nobody(authenticator):
    authenticator.user_handle = None


def of_another_user(authenticator):
    authenticator.user_handle = "YW5vdGhlcg"


def forged(authenticator):
    authenticator.key = Authenticator(ORIGIN).key


def removed(_authenticator):
    Passkey.objects.all().delete()


def disabled(_authenticator):
    services.change_user(Passkey.objects.get().user, actor="test", is_active=False)
