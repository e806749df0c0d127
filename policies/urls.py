"""URLs of the policy resources; only here are blocklist and allowlist named as the specification names them."""

from django.urls import path
from rest_framework.routers import SimpleRouter

from policies import views
from policies.bans import unban_view

router = SimpleRouter(trailing_slash=False)
router.register("ip-black-list", views.Blocklist, basename="ip-black-list")
router.register("ip-white-list", views.Allowlist, basename="ip-white-list")
router.register("waf-rules", views.WafRules, basename="waf-rules")
router.register("authorized-domains", views.AuthorizedDomains, basename="authorized-domains")
router.register("list-subscriptions", views.ListSubscriptions, basename="list-subscriptions")
router.register("geo-block-rules", views.GeoBlockRules, basename="geo-block-rules")

urlpatterns = [
    path("ip-black-list/unban", unban_view.Unban.as_view(), name="ip-black-list-unban"),
    path("waf-rules/batch", views.WafRuleBatch.as_view(), name="waf-rules-batch"),
    *router.urls,
]
