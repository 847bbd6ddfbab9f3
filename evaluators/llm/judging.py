"""What all judged evaluators share: build the prompt, ask, read the reply; each step by itself."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

from evaluators.base import Evaluator, Result, Row
from evaluators.errors import UnreadableReply
from evaluators.kinds import About
from evaluators.llm.adapters import as_model
from evaluators.llm.models import Message, Prompt, Reply, acomplete, complete
from evaluators.llm.prompting import fenced, fill, prompt_file, variables
from evaluators.llm.scales import Scale
from evaluators.run_info import with_run_info

_CALLS_AT_ONCE = 8


class Unasked:
    """A model that is never asked: for building prompts and reading stored replies only."""

    def complete(self, prompt: Prompt) -> Reply:
        """RuntimeError."""
        raise RuntimeError("This evaluator was made without a judge.")

    async def acomplete(self, prompt: Prompt) -> Reply:
        """RuntimeError."""
        raise RuntimeError("This evaluator was made without a judge.")


@dataclass(kw_only=True)
class Judged(Evaluator):
    """An evaluator that asks a model: `build_prompt`, the call, then `read_reply`."""

    llm: Any = None

    prompt_name: ClassVar[str]
    # What a prompt calls each argument of the call.
    shown: ClassVar[Mapping[str, str]]
    # Whether an unread reply gives a result with `error` in place of an exception.
    forgives_unread: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self.model = as_model(self.llm)

    @classmethod
    def from_llm(cls, llm: Any, **options: Any) -> Self:
        """The same as calling the class, as LangChain's users write it."""
        return cls(llm=llm, **options)

    @property
    def template(self) -> str:
        """The prompt before anything is filled in."""
        return prompt_file(self.prompt_name)

    def variables(self) -> set[str]:
        """The `{names}` that a prompt of this evaluator must have."""
        return {*self.shown, *self.guidance()}

    def guidance(self) -> dict[str, str]:
        """What a prompt shows beside the arguments of the call, such as criteria."""
        return {}

    @abstractmethod
    def read_reply(self, text: str, finish_reason: str = "") -> Result:
        """The result that a reply holds; UnreadableReply, with the raw text, if it holds none."""

    def build_prompt(self, *, salt: bytes | None = None, **arguments: Any) -> list[Message]:
        """The messages for one row, from the call's keyword arguments; calls nobody.

        Judged texts stand between marks made of `salt` and the texts: the same salt gives the
        same prompt again. Without a salt the marks change with each process.
        """
        texts = {name: arguments.get(argument) for name, argument in self.shown.items()}
        return messages(self.template, texts, self.guidance(), salt)

    def result_of(self, reply: Reply) -> Result:
        """The result of a reply; unread ones as this evaluator treats them."""
        try:
            return self.read_reply(reply.text, reply.finish_reason)
        except UnreadableReply as error:
            if not self.forgives_unread:
                raise
            return unread_result(error)

    def _is_readable(self, reply: Reply) -> bool:
        try:
            self.read_reply(reply.text, reply.finish_reason)
        except UnreadableReply:
            return False
        return True

    def reply_schema(self) -> dict[str, Any]:
        """The JSON schema of a reply, for models that keep to one (`structured`)."""
        return self.scale().schema()

    @abstractmethod
    def scale(self) -> Scale:
        """What a verdict may be."""

    def ask(self, **arguments: Any) -> Result:
        """Build the prompt, ask the model, read the reply."""
        prompt = self.build_prompt(**arguments)
        return self._told(
            complete(self.model, prompt, self.reply_schema(), self._is_readable), arguments
        )

    async def aask(self, **arguments: Any) -> Result:
        """The async twin of `ask`."""
        prompt = self.build_prompt(**arguments)
        return self._told(
            await acomplete(self.model, prompt, self.reply_schema(), self._is_readable), arguments
        )

    def _told(self, reply: Reply, arguments: Mapping[str, Any]) -> Result:
        result = self.result_of(reply)
        if reply.answered_by is not None:
            result = {**result, "answered_by": reply.answered_by}
        return with_run_info(result, arguments, reply)

    def _evaluate_rows(self, rows: Sequence[Row]) -> list[Result]:
        with ThreadPoolExecutor(max_workers=_CALLS_AT_ONCE) as pool:
            return list(pool.map(self._safe_row, rows))

    async def aevaluate_batch(
        self, rows: Sequence[Row], concurrency: int = _CALLS_AT_ONCE
    ) -> list[Result]:
        """The async twin of `evaluate_batch`, with at most `concurrency` calls at a time."""
        return await self._gather(rows, concurrency)


@dataclass(kw_only=True)
class JudgedByPrompt(Judged):
    """A judged evaluator that takes an own prompt."""

    prompt: Annotated[
        Any, About("Own prompt in place of ours, with the same {variables}.", type="prompt")
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._template = prompt_file(self.prompt_name)
        if self.prompt is not None:
            self._template = own_template(self.prompt, self.variables())

    @property
    def template(self) -> str:
        """The prompt before anything is filled in."""
        return self._template


def messages(
    template: str, texts: Mapping[str, Any], guidance: Mapping[str, str], salt: bytes | None
) -> list[Message]:
    """A prompt: the rules that every judge gets, then the template with texts fenced off."""
    mark, shown = fenced(texts, salt)
    return [
        {"role": "system", "content": fill(prompt_file("rules"), {"mark": mark})},
        {"role": "user", "content": fill(template, {**shown, **guidance})},
    ]


def unread_result(error: UnreadableReply) -> Result:
    """A row whose reply holds no verdict: no score, the raw text kept."""
    return {
        "reasoning": error.reply,
        "value": None,
        "score": None,
        "error": str(error),
        "error_type": type(error).__name__,
        "reply": error.reply,
    }


def own_template(prompt: Any, needed: set[str]) -> str:
    """The text of an own prompt; ValueError unless it has exactly the variables needed."""
    template = _text_of_template(prompt)
    if not isinstance(template, str):
        raise ValueError("A prompt must be a text with {variables}.")
    given = variables(template)
    if given != needed:
        wanted = ", ".join(sorted(needed))
        raise ValueError(f"The prompt must have the variables {wanted}; it has {sorted(given)}.")
    return template


def _text_of_template(prompt: Any) -> Any:
    """A text, or what LangChain's prompt templates hold; None for anything else."""
    if isinstance(prompt, str):
        return prompt
    several = getattr(prompt, "messages", None)
    if not several:
        return getattr(prompt, "template", None)
    texts = [_text_of_template(getattr(one, "prompt", None)) for one in several]
    return "\n\n".join(texts) if all(isinstance(text, str) for text in texts) else None


def parsed(output_parser: Any, text: str) -> Result:
    """The result of an own parser: a function, or an object with `parse`."""
    parse: Callable[[str], Any] = getattr(output_parser, "parse", output_parser)
    result = parse(text)
    if not isinstance(result, dict):
        raise ValueError(f"The output parser returned {type(result).__name__}, not a dict.")
    return result
