"""URLs of the policy resources; blocklist and allowlist are ``ip-black-list`` and ``ip-white-list`` in paths."""

from django.urls import path
from rest_framework.routers import SimpleRouter

from policies import views
from policies.app_profiles import profile_views
from policies.bans import unban_view
from policies.grants.views import DevicePasses

router = SimpleRouter(trailing_slash=False)
for view in views.RESOURCES:
    router.register(view.resource.name.value, view, basename=view.resource.name.value)
router.register(r"users/(?P<user_id>[0-9]{1,18})/device-passes", DevicePasses, basename="device-passes")

urlpatterns = [
    path("app-profiles", profile_views.AppProfiles.as_view(), name="app-profiles"),
    path("app-profiles/<slug:name>", profile_views.AppProfileEntry.as_view(), name="app-profile"),
    path("app-profiles/<slug:name>/apply", profile_views.AppProfileApply.as_view(), name="app-profile-apply"),
    path("app-profiles/<slug:name>/remove", profile_views.AppProfileRemove.as_view(), name="app-profile-remove"),
    path("ip-black-list/unban", unban_view.Unban.as_view(), name="ip-black-list-unban"),
    path("waf-rules/batch", views.WafRuleBatch.as_view(), name="waf-rules-batch"),
    *router.urls,
]
