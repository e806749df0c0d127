"""The page of a user whose code entry is locked by too many wrong codes."""

from accounts.models import WrongCodes
from accounts.sign_in import wrong_codes
from tests.support.second_factor import an_app


def test_admin_unlocks_code_entry_after_too_many_wrong_codes(pages, bob):
    an_app(bob)
    path = f"/accounts/user/{bob.pk}/change/"
    assert "unlock_code_entry" not in pages.get(path).content.decode()
    WrongCodes.objects.create(user=bob, number=wrong_codes.LOCKS)

    assert pages.submit(path, unlock_code_entry="on").status_code == 302

    assert WrongCodes.objects.get().number == 0
    assert "unlock_code_entry" not in pages.get(path).content.decode()
