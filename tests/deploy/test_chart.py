"""The Helm chart, linted and rendered by Helm's own library, and validated by the schemas of Kubernetes."""

import copy
import re

import kubernetes_validate
import pytest
import yaml
from helm_python.chart import Chart, lint
from helm_python.errors import HelmValuesError

from gatewall.kernel import env
from tests.deploy import dockerfile, gateway_schemas
from tests.deploy.dockerfile import BASE
from tests.deploy.jail import USER
from tests.deploy.test_image import keys
from tests.docs.test_tables import VARIABLES

FOLDER = BASE / "deploy" / "helm" / "gatewall"
OLDEST, NEWEST = "1.29", "1.34"
WANTED = {
    "image": {"repository": "images.example/gatewall"},
    "publicUrl": "https://wall.example.com",
    "trustedProxies": ["10.1.0.0/16"],
}
EVERYTHING = {
    **WANTED,
    "cookieDomain": "example.com",
    "imagePullSecrets": [{"name": "pull"}],
    "nodeSelector": {"disk": "fast"},
    "tolerations": [{"key": "gate", "operator": "Exists"}],
    "secret": {"keys": {"adminRecoveryKey": "recovery", "metricsToken": "metrics", "cacheUrl": "cache"}},
    "networkPolicy": {"scrapers": [{"podSelector": {"matchLabels": {"app": "prometheus"}}}]},
    "gateway": {
        "enabled": True,
        "parentRefs": [{"name": "gatewall"}, {"name": "inner", "namespace": "infra", "sectionName": "https"}],
        "hosts": ["app.example.com", "b.example.com"],
        "headersToExtAuth": ["x-mine"],
        "maxRequestBytes": 65_536,
    },
    "ingress": {"enabled": True, "hosts": ["app.example.com", "b.example.com"], "tlsSecretName": "tls"},
}
LEAST = {**WANTED, "networkPolicy": {"enabled": False}}
CASES = {"wanted": WANTED, "everything": EVERYTHING, "least": LEAST}


def rendered(values=WANTED, name="gatewall"):
    """Return the objects of a release by kind and name."""
    with Chart.load(FOLDER) as chart:
        texts = chart.render(values, name=name, namespace="gatewall")
    objects = [each for path, text in texts.items() if path.endswith(".yaml") for each in yaml.safe_load_all(text)]
    return {(each["kind"], each["metadata"]["name"]): each for each in objects if each}


def pods(values=WANTED):
    """Return the pod of each Deployment and of the Job."""
    found = rendered(values)
    return {
        each["metadata"]["name"]: each["spec"]["template"]["spec"]
        for each in found.values()
        if each["kind"] in {"Deployment", "Job"}
    }


def containers(pod):
    return [*pod.get("initContainers", []), *pod["containers"]]


def variables(container):
    return {each["name"]: each["value"] for each in container["env"]}


@pytest.mark.parametrize("case", CASES)
def test_helm_finds_nothing(case):
    report = lint(FOLDER, CASES[case], strict=True, kube_version=f"v{OLDEST}.0")

    assert report["errors"] == []
    assert {message["error"] for message in report["messages"]} <= {"icon is recommended"}


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
@pytest.mark.parametrize("case", CASES)
def test_kubernetes_takes_every_object(case, version):
    for each in rendered(CASES[case]).values():
        if not gateway_schemas.is_of_a_gateway(each):  # tests/deploy/test_gateway.py
            kubernetes_validate.validate(each, version, strict=True)


def with_value(path, value):
    values = copy.deepcopy(EVERYTHING)
    *folders, last = path.split(".")
    place = values
    for folder in folders:
        place = place.setdefault(folder, {})
    place[last] = value
    return values


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("image.repository", ""),
        ("image.digest", "sha256:short"),
        ("publicUrl", "http://wall.example.com"),
        ("publicUrl", "https://wall.example.com/wall"),
        ("trustedProxies", []),
        ("trustedProxies", ["everybody"]),
        ("rootPath", ""),
        ("workers", 0),
        ("state.sizeLimit", "1Gi"),
        ("state.sizeLimit", "3000Mi"),
        ("secret.name", ""),
        ("secret.keys.jwtKeys", ""),
        ("secret.keys.password", "in the clear"),
        ("dataPlane.replicas", 0),
        ("networkPolicy.proxies", []),
        ("networkPolicy.proxies", [{}]),
        ("gateway.hosts", []),
        ("gateway.parentRefs", []),
        ("gateway.parentRefs", [{"namespace": "infra"}]),
        ("gateway.headersToExtAuth", ["x_mine"]),
        ("gateway.maxRequestBytes", 65_537),
        ("ingress.hosts", []),
        ("surprise", 1),
    ],
)
def test_a_bad_value_is_refused(path, value):
    with Chart.load(FOLDER) as chart:
        chart.validate_schema(EVERYTHING)
        with pytest.raises(HelmValuesError):
            chart.validate_schema(with_value(path, value))


def test_a_release_without_values_is_refused():
    with Chart.load(FOLDER) as chart, pytest.raises(HelmValuesError):
        chart.validate_schema({})


@pytest.mark.parametrize("case", CASES)
def test_containers_have_minimal_privileges(case):
    for pod in pods(CASES[case]).values():
        security = pod["securityContext"]
        assert (security["runAsNonRoot"], security["runAsUser"], security["fsGroup"]) == (True, USER, USER)
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}
        assert (pod["enableServiceLinks"], pod["automountServiceAccountToken"]) == (False, False)
        for container in containers(pod):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert "memory" in container["resources"]["limits"]


@pytest.mark.parametrize("case", CASES)
def test_every_variable_is_one_that_the_program_reads_and_no_value_is_refused(case):
    for pod in pods(CASES[case]).values():
        for container in containers(pod):
            given = variables(container)
            assert set(given) <= VARIABLES
            env.read({**{key: value for key, value in given.items() if "_FILE" not in key}, **keys()}, BASE)


@pytest.mark.parametrize("case", CASES)
def test_every_secret_is_a_key_of_the_secret_that_is_mounted_where_it_is_read(case):
    for pod in pods(CASES[case]).values():
        secrets = {each["name"]: each["secret"] for each in pod["volumes"] if "secret" in each}
        assert {each["secretName"] for each in secrets.values()} == {"gatewall"}
        for container in containers(pod):
            mounted = {each["name"]: each["mountPath"] for each in container["volumeMounts"] if each["name"] in secrets}
            files = {f"{path}/{item['path']}" for volume, path in mounted.items() for item in secrets[volume]["items"]}
            assert {value for key, value in variables(container).items() if key.endswith("_FILE")} <= files


def test_the_data_plane_gets_the_keys_of_sessions_and_of_the_published_policy_alone():
    pod = pods(EVERYTHING)["gatewall-auth"]
    (plane,) = pod["containers"]
    volumes = {each["name"]: each.get("secret") for each in pod["volumes"]}
    secrets = [volumes[each["name"]] for each in plane["volumeMounts"] if volumes[each["name"]]]

    assert [{item["path"] for item in secret["items"]} for secret in secrets] == [{"jwt-keys", "manifest-key"}]
    assert {name for name in variables(plane) if name.endswith("_FILE")} == {
        "GATEWALL_JWT_KEYS_FILE",
        "GATEWALL_MANIFEST_KEY_FILE",
    }


def test_the_data_plane_gets_no_password_of_the_database():
    (plane,) = pods(EVERYTHING)["gatewall-auth"]["containers"]

    assert "access" not in {each["name"] for each in plane["volumeMounts"]}
    assert not {"DATABASE_URL_FILE", "CACHE_URL_FILE"} & set(variables(plane))


def test_each_plane_has_an_agent_on_its_folder_that_ends_after_it():
    for name in ("gatewall", "gatewall-auth"):
        (agent,) = pods()[name]["initContainers"]
        (plane,) = pods()[name]["containers"]

        # Pod names are never reused: after every upgrade the old host would be reported silent for a week.
        assert (agent["restartPolicy"], agent["args"]) == ("Always", ["agent", "--forget-host"])
        assert {variables(each)["GATEWALL_HOME"] for each in (agent, plane)} == {
            f"{dockerfile.settings()['GATEWALL_HOME']}/state"
        }
        for each in (agent, plane):
            assert {"name": "state", "mountPath": dockerfile.last("VOLUME")} in each["volumeMounts"]


@pytest.mark.parametrize(("name", "role"), [("gatewall", "control-plane"), ("gatewall-auth", "data-plane")])
def test_a_plane_is_probed_and_served_on_the_port_that_it_listens_on(name, role):
    found = rendered(EVERYTHING)
    config = env.read({**dockerfile.settings(), **keys()}, BASE)
    port = {"control-plane": config.port, "data-plane": config.auth_port}[role]
    (plane,) = found["Deployment", name]["spec"]["template"]["spec"]["containers"]

    assert plane["args"] == [role]
    assert plane["ports"] == [{"name": "http", "containerPort": port}]
    assert plane["livenessProbe"]["httpGet"] == {"path": "/wall/health/live", "port": "http"}
    assert plane["readinessProbe"]["httpGet"] == {"path": "/wall/health/ready", "port": "http"}
    assert found["Service", name]["spec"]["ports"] == [{"name": "http", "port": port, "targetPort": "http"}]
    (rule,) = found["NetworkPolicy", f"gatewall-{role}"]["spec"]["ingress"]
    assert rule["ports"] == [{"port": port, "protocol": "TCP"}]


@pytest.mark.parametrize("name", ["gatewall", "gatewall-auth"])
def test_service_budget_and_spread_mean_the_pods_of_their_deployment_alone(name):
    found = rendered(name="gatewall")
    deployment = found["Deployment", name]["spec"]
    selector = deployment["selector"]["matchLabels"]
    others = [
        each["spec"]["template"]["metadata"]["labels"] for key, each in found.items() if key[0] in {"Deployment", "Job"}
    ]

    assert selector.items() <= deployment["template"]["metadata"]["labels"].items()
    assert sum(selector.items() <= labels.items() for labels in others) == 1
    assert found["Service", name]["spec"]["selector"] == selector
    assert found["PodDisruptionBudget", name]["spec"]["selector"]["matchLabels"] == selector
    for spread in deployment["template"]["spec"]["topologySpreadConstraints"]:
        assert spread["labelSelector"]["matchLabels"] == selector


def test_two_releases_in_a_namespace_have_nothing_in_common():
    assert not set(rendered(name="gatewall")) & set(rendered(name="inner"))


def test_the_image_is_of_this_version_unless_a_digest_is_named():
    images = {each["image"] for pod in pods().values() for each in containers(pod)}
    digest = f"sha256:{'a' * 64}"
    pinned = pods({**WANTED, "image": {"repository": "images.example/gatewall", "digest": digest}})
    version = re.search(r'^version = "(.+)"', (BASE / "pyproject.toml").read_text(), re.MULTILINE)[1]

    assert images == {f"images.example/gatewall:{version}"}
    assert {each["image"] for pod in pinned.values() for each in containers(pod)} == {
        f"images.example/gatewall@{digest}"
    }


def test_service_and_ingresses_equal_the_sample_for_ingress_nginx():
    found = rendered(EVERYTHING)
    samples = list(yaml.safe_load_all((BASE / "deploy/ingress-nginx/site.yaml").read_text()))
    asked = samples[0]["metadata"]["annotations"]["nginx.ingress.kubernetes.io/auth-url"]

    assert re.match(r"http://([\w-]+)\.gatewall\.svc\.cluster\.local:9998/", asked)[1] == "gatewall-auth"
    assert ("Service", "gatewall-auth") in found
    for sample in samples[1:]:
        ours = found["Ingress", sample["metadata"]["name"]]
        assert ours["metadata"].get("annotations") == sample["metadata"].get("annotations")
        assert ours["spec"]["rules"][0] == sample["spec"]["rules"][0]


def test_the_migration_may_connect_where_the_pods_may_and_before_the_pods_are_there():
    found = rendered()
    ours, theirs = found["NetworkPolicy", "gatewall-migrate"], found["NetworkPolicy", "gatewall-control-plane"]
    annotations = ours["metadata"]["annotations"]
    labels = found["Job", "gatewall-migrate"]["spec"]["template"]["metadata"]["labels"]

    assert ours["spec"]["podSelector"]["matchLabels"].items() <= labels.items()
    assert ours["spec"]["egress"] == theirs["spec"]["egress"]
    assert (ours["spec"]["policyTypes"], ours["spec"].get("ingress")) == (["Ingress", "Egress"], None)
    assert annotations["helm.sh/hook"] == found["Job", "gatewall-migrate"]["metadata"]["annotations"]["helm.sh/hook"]
    assert int(annotations["helm.sh/hook-weight"]) < 0


def test_the_migration_runs_before_the_pods_and_gets_the_first_password():
    job = rendered()["Job", "gatewall-migrate"]
    (migrate,) = job["spec"]["template"]["spec"]["containers"]

    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    assert migrate["args"] == ["migrate", "--several-hosts"]
    assert "GATEWALL_ADMIN_PASSWORD_FILE" in variables(migrate)
