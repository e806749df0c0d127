"""URLs of the visitor pages."""

from django.urls import path

from gatewall.portal import (
    account_views,
    administration_view,
    denied_view,
    first_run,
    guard_views,
    hand_off_views,
    identity_views,
    password_views,
    provider_views,
    step_up_views,
)

urlpatterns = [
    path("", guard_views.Guard.as_view(), name="guard"),
    path("second-factor", guard_views.SecondFactor.as_view(), name="second-factor"),
    path("sign-out", guard_views.SignOut.as_view(), name="sign-out"),
    path("hand-off/grant", hand_off_views.Grant.as_view(), name="hand-off-grant"),
    path("hand-off/enter", hand_off_views.Enter.as_view(), name="hand-off-enter"),
    path("step-up", step_up_views.StepUp.as_view(), name="step-up"),
    path("enrol", step_up_views.Enrol.as_view(), name="enrol"),
    path("enrol/confirm", step_up_views.ConfirmEnrolment.as_view(), name="enrol-confirm"),
    path("account", account_views.Account.as_view(), name="account"),
    path("account/password", account_views.ChangePassword.as_view(), name="account-password"),
    path("account/second-factor/off", account_views.SwitchOff.as_view(), name="account-second-factor-off"),
    path("account/sessions/end", account_views.EndSession.as_view(), name="account-session-end"),
    path("account/sessions/end-all", account_views.EndAllSessions.as_view(), name="account-session-end-all"),
    path("account/git-tokens", account_views.IssueGitToken.as_view(), name="account-git-token"),
    path("account/git-tokens/delete", account_views.RevokeGitToken.as_view(), name="account-git-token-delete"),
    path("account/identities/link", identity_views.LinkIdentity.as_view(), name="account-identity-link"),
    path("account/identities/unlink", identity_views.UnlinkIdentity.as_view(), name="account-identity-unlink"),
    path("oidc/<slug:slug>", provider_views.Start.as_view(), name="provider-start"),
    path("oidc/<slug:slug>/callback", provider_views.Callback.as_view(), name="provider-callback"),
    path("oidc/<slug:slug>/sign-out", provider_views.SignOutThere.as_view(), name="provider-sign-out"),
    path("oidc/<slug:slug>/logout", provider_views.BackChannelLogout.as_view(), name="provider-logout"),
    path("administration", administration_view.Administration.as_view(), name="administration"),
    path("password/forgot", password_views.Forgot.as_view(), name="password-forgot"),
    path("password/new", password_views.SetPassword.as_view(), name="password-new"),
    path("invitation", password_views.Invitation.as_view(), name="accept-invitation"),
    path("setup", first_run.FirstAdmin.as_view(), name="first-admin"),
    path("denied", denied_view.Denied.as_view(), name="denied"),
]
