"""The models of a workspace: tried by one small call, priced, limited, with a fallback."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.test import Client
from django.urls import reverse

from experiments.models import Provider
from experiments.services.prices import price_of
from tests.engine.processes import StubJudge, free_port
from tests.factories import make_provider
from tiebreak.accounts.models import User, Workspace

pytestmark = pytest.mark.django_db
STUB = "http://127.0.0.1"


@pytest.fixture
def alice_client(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


@pytest.fixture(autouse=True)
def loopback_is_allowed(settings: Any) -> None:
    settings.PRIVATE_MODEL_HOSTS = frozenset({"127.0.0.1"})


def tried(client: Client, provider: Provider) -> str:
    answer = client.post(reverse("provider_test", args=[provider.uid]))
    told = list(get_messages(answer.wsgi_request))[-1]
    return f"{told.level_tag}: {told}"


def test_a_test_tells_model_latency_and_structure(
    alice_client: Client, workspace: Workspace
) -> None:
    with StubJudge(script=[{"reply": '{"answer": "3"}'}]) as stub:
        told = tried(alice_client, make_provider(workspace, stub.base_url))
    assert told.startswith("success: ")
    assert "stub answered in " in told
    assert "keeps to a JSON schema" in told


def test_a_server_that_knows_no_schema_is_asked_without(
    alice_client: Client, workspace: Workspace
) -> None:
    with StubJudge(script=[{"status": 400, "times": 1}, {"reply": "3"}]) as stub:
        told = tried(alice_client, make_provider(workspace, stub.base_url, structured=True))
        assert stub.stats()["calls"] == 2
    assert "does not keep to a JSON schema. Switch that off." in told


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"status": 401}, "refused the key (HTTP 401)"),
        ({"status": 429}, "rate limited"),
        ({"status": 500}, "HTTP 500"),
        ({"raw": "<html>secret</html>"}, "failed"),
        ({"close": True}, "could not be reached"),
        ({"delay": 5}, "did not answer"),
    ],
    ids=["key", "limit", "fault", "garbage", "cut off", "late"],
)
def test_a_failing_test_says_why_and_repeats_nothing_from_the_server(
    alice_client: Client, workspace: Workspace, rule: dict[str, Any], said: str
) -> None:
    with StubJudge(script=[rule]) as stub:
        told = tried(alice_client, make_provider(workspace, stub.base_url, timeout=1))
    assert told.startswith("error: ")
    assert said in told
    assert "secret" not in told
    assert "scripted" not in told


def test_a_private_address_is_refused_alike_whether_something_listens_or_not(
    alice_client: Client, workspace: Workspace, settings: Any
) -> None:
    settings.PRIVATE_MODEL_HOSTS = frozenset()
    with StubJudge() as stub:
        told = {
            tried(alice_client, make_provider(workspace, address)).rpartition(": The")[2]
            for address in (
                stub.base_url,
                f"{STUB}:{free_port()}/v1",
                "http://169.254.169.254/latest/meta-data/",
                "http://2852039166/",
                "http://[::ffff:169.254.169.254]/",
                "http://[::1]:5432/",
                "http://localhost:8000/admin/",
                "http://0.0.0.0/",
            )
        }
        assert stub.stats().get("calls", 0) == 0
    assert len(told) == 1
    assert "it is private" in told.pop()


FIELDS = {"name": "judge", "base_url": f"{STUB}:9/v1", "model": "m", "timeout": "30"}


def test_prices_limits_and_a_fallback_are_kept(alice_client: Client, workspace: Workspace) -> None:
    other = make_provider(workspace, f"{STUB}:9/v1")
    more = {"input_price": "2.5", "output_price": "10", "requests_per_minute": "60"}
    alice_client.post(reverse("provider_list"), {**FIELDS, **more, "fallback": str(other.uid)})
    row = Provider.objects.get(name="judge")
    assert (row.requests_per_minute, row.tokens_per_minute, row.fallback) == (60, None, other)
    price = price_of(row)
    assert price is not None
    assert price.of(1_000_000, 1_000_000) == Decimal("12.5")
    page = alice_client.get(reverse("provider_list")).content.decode()
    assert "$2.5 / $10" in page
    assert "60 requests a minute" in page
    assert "price unknown" in page
    form = alice_client.get(reverse("provider_edit", args=[row.uid])).content.decode()
    assert 'value="2.5"' in form
    assert f'value="{other.uid}" selected' in form
    alice_client.post(reverse("provider_remove", args=[other.uid]))
    row.refresh_from_db()
    assert row.fallback is None


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"input_price": "1"}, "id_output_price"),
        ({"output_price": "-1", "input_price": "1"}, "id_output_price"),
        ({"requests_per_minute": "0"}, "id_requests_per_minute"),
        ({"tokens_per_minute": "many"}, "id_tokens_per_minute"),
        ({"fallback": "00000000-0000-0000-0000-000000000000"}, "id_fallback"),
    ],
)
def test_what_is_wrong_is_said_at_its_field(
    alice_client: Client, workspace: Workspace, changes: dict[str, str], field: str
) -> None:
    answer = alice_client.post(reverse("provider_list"), {**FIELDS, **changes})
    assert answer.status_code == 422
    assert f'id="{field}_error"' in answer.content.decode()
    assert not Provider.objects.exists()


def test_nobody_falls_back_on_oneself(alice_client: Client, workspace: Workspace) -> None:
    one, two = (make_provider(workspace, f"{STUB}:9/v1") for _ in range(2))
    Provider.objects.filter(pk=two.pk).update(fallback=one)
    changed = {**FIELDS, "name": one.name, "fallback": str(two.uid)}
    answer = alice_client.post(reverse("provider_edit", args=[one.uid]), changed)
    assert answer.status_code == 422
    assert "would come back to this one" in answer.content.decode()


def test_strangers_and_editors_cannot_try_a_model(
    client: Client, workspace: Workspace, mallory: User
) -> None:
    provider = make_provider(workspace, f"{STUB}:9/v1")
    client.force_login(mallory)
    assert client.post(reverse("provider_test", args=[provider.uid])).status_code == 404


def test_a_known_vendor_has_a_list_price_and_a_strange_address_has_none() -> None:
    known = Provider(base_url="https://api.openai.com/v1", model="gpt-4o-mini")
    price = price_of(known)
    assert price is not None
    assert price.of(1_000_000, 0) == Decimal("0.15")
    assert "genai-prices" in price.source
    assert price_of(Provider(base_url="http://llm.example:8000/v1", model="gpt-4o-mini")) is None
    assert price_of(Provider(base_url="https://api.openai.com/v1", model="no-such")) is None
