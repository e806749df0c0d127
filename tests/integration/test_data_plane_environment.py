"""The environment of a data plane: fewer secrets than other processes need."""

import pytest

from gatewall.credentials import base64url
from gatewall.credentials.manifest_key import manifest_key
from gatewall.kernel import env
from tests.integration.test_environment import ENOUGH, SECRET


def of_a_data_plane(**variables):
    kept = {key: value for key, value in ENOUGH.items() if key == "GATEWALL_JWT_KEYS"}
    return kept | {"GATEWALL_MANIFEST_KEY": base64url.encode(manifest_key(SECRET))} | variables


def test_a_data_plane_has_the_key_of_the_manifest_in_place_of_the_secret_key(tmp_path):
    config, whole = env.read(of_a_data_plane(), tmp_path), env.read(ENOUGH, tmp_path)

    assert config.manifest_key == whole.manifest_key
    assert (config.secret_key, config.data_keys.keys) == ("", ())
    assert (config.is_of_data_plane, whole.is_of_data_plane) == (True, False)


def test_a_data_plane_reads_no_key_of_the_state_folder_that_it_needs_not(tmp_path):
    folder = tmp_path / "var" / "secrets"
    folder.mkdir(parents=True)
    (folder / "secret-key").write_text("")
    (folder / "data-keys").write_text("")

    assert env.read(of_a_data_plane(), tmp_path).is_of_data_plane


@pytest.mark.parametrize("name", ["GATEWALL_SECRET_KEY", "GATEWALL_DATA_KEYS", "GATEWALL_SECRET_KEY_FILE"])
def test_a_data_plane_gets_no_secret_of_others(tmp_path, name):
    with pytest.raises(env.ConfigError, match="GATEWALL_MANIFEST_KEY is for a data plane"):
        env.read(of_a_data_plane(**{name: SECRET}), tmp_path)


@pytest.mark.parametrize("text", ["short", SECRET, "=" * 43, base64url.encode(bytes(31))])
def test_an_invalid_manifest_key_is_refused_and_not_shown(tmp_path, text):
    with pytest.raises(env.ConfigError, match="GATEWALL_MANIFEST_KEY must be") as refused:
        env.read(of_a_data_plane(GATEWALL_MANIFEST_KEY=text), tmp_path)

    assert text not in str(refused.value)
