"""Outputs that are chats, shown as conversations on demand."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from experiments.models import Comparison, RunPayload
from experiments.services.examples import ExampleChange, update_examples
from tests.factories import example_ids, judge, make_comparison, make_dataset, make_experiment
from tiebreak.accounts.models import User, Workspace
from tiebreak.conversations import Call, Message, conversation_in

HELLO = {"role": "user", "content": "Hello"}
CALL = {"id": "1", "type": "function", "function": {"name": "look", "arguments": '{"q":1}'}}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"messages": [HELLO]}, [Message("user", "Hello")]),
        ([HELLO], [Message("user", "Hello")]),
        (HELLO, [Message("user", "Hello")]),
        ({"output": {"messages": [HELLO]}}, [Message("user", "Hello")]),
        (
            {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}}]},
            [Message("assistant", "Hi")],
        ),
        (
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            [Message("assistant", "", (Call("look", '{\n  "q": 1\n}'),))],
        ),
        ([{"type": "human", "content": "x"}], [Message("user", "x")]),
        ([{"type": "ai", "data": {"content": "x"}}], [Message("assistant", "x")]),
        (
            [{"lc": 1, "id": ["AIMessage"], "kwargs": {"content": "x", "type": "ai"}}],
            [Message("assistant", "x")],
        ),
        (
            [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image"}]}],
            [Message("user", 'a\n{"type":"image"}')],
        ),
        ([{"type": "ai", "content": "", "tool_calls": [{"name": "f", "args": {"x": 1}}]}],
         [Message("assistant", "", (Call("f", '{\n  "x": 1\n}'),))]),
    ],
)  # fmt: skip
def test_messages_are_found_in_the_usual_shapes(value: Any, expected: list[Message]) -> None:
    assert conversation_in(json.dumps(value)) == expected


@pytest.mark.parametrize(
    "text",
    [None, "", "Hello", "7", "[]", "{}", '{"messages": []}', '[1, "x"]', '{"messages": "x"}',
     '{"content": 3}', '[{"role": 1, "content": "x"}]', '{"answer": {"role": "x"}}'],
)  # fmt: skip
def test_everything_else_is_none(text: str | None) -> None:
    assert conversation_in(text) is None


pytestmark = pytest.mark.django_db


@pytest.fixture
def chats(workspace: Workspace) -> Comparison:
    dataset = make_dataset(workspace, ["x", "y"])
    inputs = json.dumps({"messages": [HELLO]})
    change = ExampleChange(uid=example_ids(dataset)[0], inputs=inputs)
    update_examples(dataset=dataset, changes=[change])
    a, b = (make_experiment(dataset, ["x", "plain"]) for _ in range(2))
    hostile = '<script>window.__xss=1</script> <b hx-get="/x" hx-trigger="load">b</b> \u202e'
    said = [{"role": "assistant <i>", "content": hostile, "tool_calls": [CALL]}]
    run = a.runs.order_by("pk")[0]
    RunPayload.objects.filter(run=run).update(outputs=json.dumps({"messages": said * 8}))
    made = make_comparison(a, b)
    judge(made, ["a", "tie"])
    return made


def test_the_view_is_a_choice_and_shows_texts_as_texts(
    client: Client, alice: User, chats: Comparison
) -> None:
    client.force_login(alice)
    address = reverse("comparison_detail", args=[chats.uid])
    assert '<ol class="chat">' not in client.get(address).content.decode()
    row = str(chats.pairs.order_by("position")[0].example_uid)
    page = client.get(address, {"view": "chat", "row": row, "diff": "1"}).content.decode()
    assert "<b>user</b>" in page
    assert "2 earlier messages" in page
    assert page.count("&lt;script&gt;window") == 6 + 8
    assert "<b>assistant &lt;i&gt;</b>" in page
    assert "<code>look</code>" in page
    for bad in ("<script>window", "<b hx-get", "\u202e"):
        assert bad not in page
    assert ">plain<" in page
