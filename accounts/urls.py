"""URLs of users and sign-in."""

from django.urls import path, re_path
from rest_framework.routers import SimpleRouter

from accounts import views
from accounts.api_tokens.views import ApiTokens
from accounts.identity_providers.views import IdentityProviders
from accounts.links import views as link_views
from accounts.passkeys.views import PasskeyBegin, PasskeyFinish, Passkeys
from accounts.remembered_devices.views import RememberedDevices
from accounts.sign_in import views as sign_in_views
from accounts.sign_in.login import ADMIN_LOGIN
from accounts.totp_devices.views import TotpDevices

_USER = r"users/(?P<user_id>[0-9]{1,18})"
router = SimpleRouter(trailing_slash=False)
router.register("users", views.Users, basename="users")
router.register("api-tokens", ApiTokens, basename="api-tokens")
router.register("identity-providers", IdentityProviders, basename="identity-providers")
router.register(rf"{_USER}/passkeys", Passkeys, basename="passkeys")
router.register(rf"{_USER}/remembered-devices", RememberedDevices, basename="remembered-devices")
router.register(rf"{_USER}/totp-devices", TotpDevices, basename="totp-devices")
router.register(rf"{_USER}/sessions", views.Sessions, basename="sessions")

urlpatterns = [
    path("login", sign_in_views.Login.as_view(), name="login"),
    path("login/2fa", sign_in_views.LoginSecondFactor.as_view(), name="login-2fa"),
    path("login/passkey/begin", sign_in_views.LoginPasskeyBegin.as_view(), name="login-passkey-begin"),
    path("login/passkey/finish", sign_in_views.LoginPasskeyFinish.as_view(), name="login-passkey-finish"),
    path("admin-login", sign_in_views.Login.as_view(flow=ADMIN_LOGIN), name="admin-login"),
    path("admin-login/2fa", sign_in_views.LoginSecondFactor.as_view(flow=ADMIN_LOGIN), name="admin-login-2fa"),
    path(
        "admin-login/passkey/begin",
        sign_in_views.LoginPasskeyBegin.as_view(flow=ADMIN_LOGIN),
        name="admin-login-passkey-begin",
    ),
    path(
        "admin-login/passkey/finish",
        sign_in_views.LoginPasskeyFinish.as_view(flow=ADMIN_LOGIN),
        name="admin-login-passkey-finish",
    ),
    path("admin-recover-2fa", sign_in_views.RecoverSecondFactor.as_view(), name="admin-recover-2fa"),
    path("password-reset", link_views.AskReset.as_view(), name="password-reset"),
    path("logout", sign_in_views.Logout.as_view(), name="logout"),
    path("session", sign_in_views.OwnSession.as_view(), name="session"),
    re_path(rf"^{_USER}/passkeys/register/begin\Z", PasskeyBegin.as_view(), name="passkey-begin"),
    re_path(rf"^{_USER}/passkeys/register/finish\Z", PasskeyFinish.as_view(), name="passkey-finish"),
    re_path(rf"^{_USER}/totp/setup\Z", views.TotpSetup.as_view(), name="totp-setup"),
    re_path(rf"^{_USER}/totp/confirm\Z", views.TotpConfirm.as_view(), name="totp-confirm"),
    re_path(rf"^{_USER}/totp/disable\Z", views.TotpDisable.as_view(), name="totp-disable"),
    re_path(rf"^{_USER}/totp/unlock\Z", views.TotpUnlock.as_view(), name="totp-unlock"),
    re_path(rf"^{_USER}/totp\Z", views.Totp.as_view(), name="totp"),
    re_path(rf"^{_USER}/invitation\Z", link_views.Invitation.as_view(), name="invitation"),
    re_path(rf"^{_USER}/password-reset\Z", link_views.ResetLink.as_view(), name="user-password-reset"),
    re_path(rf"^{_USER}/password\Z", views.Password.as_view(), name="password"),
    *router.urls,
]
