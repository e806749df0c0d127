"""Start-up of the control plane: registers the functions of higher layers that lower layers call."""

import gc

from django.apps import AppConfig
from django.conf import settings

from gatewall.kernel.optional_imports import left_out

with left_out("django.contrib.postgres", "requests"):
    import rest_framework.compat  # noqa: F401 - for fields of PostgreSQL, which no model has, it loads psycopg: 6 MiB


class GatewallConfig(AppConfig):
    name = "gatewall"
    verbose_name = "System"

    def ready(self) -> None:
        """Connect the layers, once all models are loaded. No other call goes from a lower layer to a higher one.

        | Lower layer                | calls                                                              |
        |----------------------------|--------------------------------------------------------------------|
        | ``policy.revisions``       | ``publication.announcement``, after each commit                    |
        | ``policy.revisions``       | ``audit.events``, with each revision in its transaction            |
        | ``audit.events.recording`` | ``webhooks.incidents`` and ``webhooks.mail.account_events``, with   |
        |                            | the events of a transaction                                        |
        | ``api.fresh_sign_in``      | ``accounts``, to re-authenticate callers                           |
        | ``api.caller``             | ``accounts``, for the authentication methods of a session          |
        | ``policies.geo``           | the look-up of countries, when rules may lock their author out     |
        | ``policies.scopes``        | the models whose rows name domains, when a domain is changed       |
        |                            | or deleted                                                         |
        """
        # Imported here: their models are loaded only now.
        from accounts import authentication, fresh_sign_in  # noqa: PLC0415
        from accounts.models import User  # noqa: PLC0415
        from audit.events import recording, revision_events  # noqa: PLC0415
        from gatewall.admin.labels import translate_fields  # noqa: PLC0415
        from gatewall.api import caller  # noqa: PLC0415
        from gatewall.api.fresh_sign_in import register_check  # noqa: PLC0415
        from gatewall.install.checks import register_all  # noqa: PLC0415
        from gatewall.policy import revisions  # noqa: PLC0415
        from gatewall.publication.announcement import announce  # noqa: PLC0415
        from gatewall.publication.control_plane import sources_of  # noqa: PLC0415
        from licensing.models import AppToken, License  # noqa: PLC0415
        from policies import geo, scopes  # noqa: PLC0415
        from policies.models import Group  # noqa: PLC0415
        from webhooks import incidents  # noqa: PLC0415
        from webhooks.mail import account_events  # noqa: PLC0415

        revisions.call_after_commit(announce)
        revisions.call_in_transaction(revision_events.record)
        recording.call_in_transaction(incidents.create_notices, account_events.create_mails)
        register_check(fresh_sign_in)
        caller.find_amr_with(authentication.amr_of)
        geo.look_up_with(lambda: sources_of(settings.CONFIG)[1])
        scopes.scoped_by(Group, User, AppToken, License)
        register_all()
        translate_fields()
        gc.freeze()  # later collections skip the objects loaded so far
        gc.enable()  # off since ``settings.py``
