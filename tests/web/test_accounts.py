"""Signing in, the first run, passwords, members, keys and models."""

from __future__ import annotations

import re

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from experiments.models import Provider
from experiments.services.sealing import unseal
from tests.factories import make_provider
from tiebreak.accounts import throttle
from tiebreak.accounts.first_run import setup_token
from tiebreak.accounts.models import ApiKey, Membership, Role, User, Workspace

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def no_failures_yet() -> None:
    cache.clear()


@pytest.fixture
def alice_client(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def sign_in(client: Client, password: str, username: str = "alice", **more: str) -> object:
    return client.post(reverse("sign_in"), {"username": username, "password": password, **more})


def test_it_signs_in_and_goes_where_one_wanted_to_go(client: Client, alice: User) -> None:
    wanted = reverse("settings")
    assert client.get(wanted).headers["Location"] == f"/sign-in?next={wanted}"
    answer = client.post(
        reverse("sign_in"), {"username": "alice", "password": PASSWORD, "next": wanted}
    )
    assert answer.headers["Location"] == wanted
    assert client.get(wanted).status_code == 200


def test_it_never_sends_one_to_another_site(client: Client, alice: User) -> None:
    for target in ("https://evil.example/", "//evil.example", "javascript:alert(1)"):
        answer = client.post(
            reverse("sign_in"), {"username": "alice", "password": PASSWORD, "next": target}
        )
        assert answer.headers["Location"] == "/datasets"


def test_it_gives_one_message_for_both_causes(client: Client, alice: User) -> None:
    wrong = client.post(reverse("sign_in"), {"username": "alice", "password": "no"})
    unknown = client.post(reverse("sign_in"), {"username": "nobody", "password": "no"})
    texts = [re.findall(r"<li>([^<]+)</li>", page.content.decode()) for page in (wrong, unknown)]
    assert wrong.status_code == unknown.status_code == 422
    assert texts[0] == texts[1] == ["That name and password do not fit together."]
    assert 'value="alice"' in wrong.content.decode()


def test_it_slows_down_after_repeated_failures(client: Client, alice: User) -> None:
    for _ in range(throttle.FREE_TRIES + 1):
        sign_in(client, "guess")
    answer = client.post(reverse("sign_in"), {"username": "alice", "password": PASSWORD})
    assert "Too many tries" in answer.content.decode()
    assert "_auth_user_id" not in client.session
    assert throttle.seconds_to_wait("alice", "127.0.0.1") > 0
    assert throttle.seconds_to_wait("bob", "127.0.0.1") == 0


def test_the_wait_doubles_and_a_right_password_clears_it(client: Client, alice: User) -> None:
    waits = []
    for _ in range(throttle.FREE_TRIES + 3):
        throttle.note_failure("alice", "127.0.0.1")
        waits.append(throttle.seconds_to_wait("alice", "127.0.0.1"))
    assert waits[: throttle.FREE_TRIES - 1] == [0] * (throttle.FREE_TRIES - 1)
    assert waits[-3:] == [4, 8, 16]
    throttle.forget_failures("alice", "127.0.0.1")
    assert throttle.seconds_to_wait("alice", "127.0.0.1") == 0


def test_the_first_run_creates_an_administrator_and_a_workspace(client: Client) -> None:
    assert "Not set up yet" in client.get(reverse("sign_in")).content.decode()
    assert client.get(reverse("setup")).status_code == 404
    assert client.get(reverse("setup"), {"token": "guess"}).status_code == 404
    fields = {"username": "ada", "workspace": "Engines", "token": setup_token()}
    weak = client.post(reverse("setup"), {**fields, "password": "123"})
    assert weak.status_code == 422
    assert not User.objects.exists()
    client.post(reverse("setup"), {**fields, "password": PASSWORD})
    member = Membership.objects.get()
    assert (member.user.username, member.workspace.name, member.role) == (
        "ada", "Engines", Role.ADMIN,
    )  # fmt: skip
    assert client.get(reverse("dataset_list")).status_code == 200
    assert client.get(reverse("setup"), {"token": setup_token()}).status_code == 404


def test_a_changed_password_ends_other_sessions(client: Client, alice: User) -> None:
    other = Client()
    for one in (client, other):
        sign_in(one, PASSWORD)
    fields = {"old_password": PASSWORD, "new_password1": "new horse 99", "new_password2": "x"}
    assert client.post(reverse("password"), fields).status_code == 422
    client.post(reverse("password"), {**fields, "new_password2": "new horse 99"})
    assert client.get(reverse("settings")).status_code == 200
    assert other.get(reverse("settings")).status_code == 302


def test_signing_out_needs_a_post_and_pages_are_not_kept(alice_client: Client) -> None:
    page = alice_client.get(reverse("dataset_list"))
    assert "no-store" in page.headers["Cache-Control"]
    assert alice_client.get(reverse("sign_out")).status_code == 405
    alice_client.post(reverse("sign_out"))
    assert alice_client.get(reverse("dataset_list")).status_code == 302


def test_an_administrator_adds_members_and_changes_roles(
    alice_client: Client, workspace: Workspace, alice: User
) -> None:
    fields = {"username": "bob", "password": PASSWORD, "role": "viewer"}
    alice_client.post(reverse("member_list"), fields)
    bob = workspace.memberships.get(user__username="bob")
    assert bob.role == Role.VIEWER
    alice_client.post(reverse("member_role", args=[bob.pk]), {"role": "editor"})
    bob.refresh_from_db()
    assert bob.role == Role.EDITOR
    again = alice_client.post(reverse("member_list"), fields)
    assert "is a member already" in again.content.decode()
    unknown = alice_client.post(reverse("member_list"), {**fields, "username": "x", "password": ""})
    assert "first password" in unknown.content.decode()


def test_the_last_administrator_stays(alice_client: Client, workspace: Workspace) -> None:
    own = workspace.memberships.get()
    for name, data in (("member_role", {"role": "viewer"}), ("member_remove", {})):
        page = alice_client.post(reverse(name, args=[own.pk]), data, follow=True)
        assert "needs another administrator" in page.content.decode()
    own.refresh_from_db()
    assert own.role == Role.ADMIN


@pytest.mark.parametrize("role", [Role.VIEWER, Role.ANNOTATOR, Role.EDITOR])
def test_only_administrators_manage(alice_client: Client, alice: User, role: Role) -> None:
    alice.memberships.update(role=role)
    for name in ("member_list", "key_list", "provider_list"):
        assert alice_client.get(reverse(name)).status_code == 403
    assert alice_client.get(reverse("settings")).status_code == 200


def test_another_workspaces_members_and_keys_are_not_found(
    alice_client: Client, other_workspace: Workspace
) -> None:
    foreign = other_workspace.memberships.get()
    target = reverse("member_role", args=[foreign.pk])
    assert alice_client.post(target, {"role": "viewer"}).status_code == 404
    provider = make_provider(other_workspace, "https://example.com/v1")
    assert alice_client.get(reverse("provider_edit", args=[provider.uid])).status_code == 404


def test_a_key_is_shown_once_and_only_its_hash_is_kept(
    alice_client: Client, workspace: Workspace
) -> None:
    page = alice_client.post(reverse("key_list"), {"name": "nightly", "role": "viewer"})
    found = re.search(r"tb_[\w-]{30,}", page.content.decode())
    assert found is not None
    secret = found[0]
    key = ApiKey.objects.get(name="nightly")
    assert key.digest == ApiKey.digest_of(secret)
    assert secret not in alice_client.get(reverse("key_list")).content.decode()
    headers = {"x-api-key": secret}
    assert Client().get("/api/v1/sessions", headers=headers).status_code == 200
    assert (
        Client().post("/api/v1/datasets", "{}", "application/json", headers=headers).status_code
        == 403
    )
    alice_client.post(reverse("key_revoke", args=[key.uid]))
    assert Client().get("/api/v1/sessions", headers=headers).status_code == 401
    assert "revoked" in alice_client.get(reverse("key_list")).content.decode()


MODEL = {"name": "hosted", "base_url": "https://93.184.216.34/v1", "model": "m", "timeout": "30"}


def test_a_models_key_is_sealed_and_never_shown(alice_client: Client, workspace: Workspace) -> None:
    secret = "sk-secret-0123456789abcd"
    alice_client.post(reverse("provider_list"), {**MODEL, "key": secret})
    row = Provider.objects.get()
    assert secret.encode() not in bytes(row.sealed_key)
    assert unseal(bytes(row.sealed_key)) == secret
    for address in (reverse("provider_list"), reverse("provider_edit", args=[row.uid])):
        page = alice_client.get(address).content.decode()
        assert secret not in page
    assert "…abcd" in alice_client.get(reverse("provider_list")).content.decode()


def test_a_stored_key_does_not_follow_to_another_address(
    alice_client: Client, workspace: Workspace
) -> None:
    alice_client.post(reverse("provider_list"), {**MODEL, "key": "sk-secret-0123456789abcd"})
    row = Provider.objects.get()
    target = reverse("provider_edit", args=[row.uid])
    alice_client.post(target, {**MODEL, "model": "bigger"})
    row.refresh_from_db()
    assert (row.model, bool(row.sealed_key)) == ("bigger", True)
    alice_client.post(target, {**MODEL, "base_url": "https://93.184.216.35/v1"})
    row.refresh_from_db()
    assert bytes(row.sealed_key) == b""


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/v1",
        "http://localhost:11434/v1",
        "http://169.254.169.254/latest/meta-data/",
        "http://10.0.0.8/v1",
        "http://[::1]/v1",
        "http://[::ffff:127.0.0.1]/v1",
        "http://2130706433/v1",
        "http://0x7f000001/v1",
        "http://0177.0.0.1/v1",
        "http://127.1/v1",
        "http://0.0.0.0/v1",
        "file:///etc/passwd",
        "ftp://example.com/v1",
        "gopher://127.0.0.1:6379/_INFO",
        "https://user:pass@example.com/v1",
        "not an address",
    ],
)
def test_an_address_inside_is_refused_before_anything_is_stored(
    alice_client: Client, url: str
) -> None:
    page = alice_client.post(reverse("provider_list"), {**MODEL, "base_url": url, "key": "k"})
    assert page.status_code == 422
    assert page.context["form"].errors["base_url"]
    assert not Provider.objects.exists()
