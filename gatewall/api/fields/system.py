"""Fields of webhooks, hosts and the doctor."""

from gatewall.api.fields.common import Words

SYSTEM = {
    "Delivery.status": Words("State of the delivery.", "delivered"),
    "attempts": Words("Number of attempts.", 1),
    "data": Words("Content of the notice."),
    "type": Words("Kind of event.", "auto-ban"),
    "message_id": Words("Id of the notice, the same in every attempt.", "msg_2kXb9"),
    "response_status": Words("Status of the receiver's response; null without one.", 204),
    "failing_since": Words("Since when every attempt fails; null if the last one succeeded.", None),
    "previous_until": Words("Until when the previous secret signs too; null without one.", None),
    "left_out": Words("Notices that were left out because there were too many.", 0),
    "Entrants.left_out": Words("How many more there are than are listed.", 0),
    "Webhook.name": Words("Name of the webhook.", "chat"),
    "checks": Words("What was checked, each with its finding and its fix."),
    "probes": Words("Requests that the doctor made, and how they were answered."),
    "proxy": Words("Which proxy answered, if it can be told; null otherwise.", "nginx"),
    "verdict": Words("The worst finding.", "ok"),
    "untrusted_peers": Words("Peers that send requests and are not among the trusted proxies.", []),
    "Doctor.url": Words("Address of the site that was examined.", "https://app.example.com/"),
    "upstream": Words("Address of the site behind the proxy, to look for a way around it; null: not looked for.", None),
    "self_signed": Words("Accept a certificate that no authority signed.", False),
    "ListSubscription.url": Words("Address of the list.", "https://lists.example.com/drop.txt"),
}
