"""Every game behind a judgment, for the detail drawer."""

from dataclasses import dataclass
from typing import Any

from experiments.models import Game, Judgment
from experiments.rawjson import loads


@dataclass(frozen=True)
class GameDetail:
    """One game as it was played; `order` names the sides as the judge saw them."""

    game: Game
    order: str
    prompt: str
    reply: str


def games_of(judgment: Judgment, *, swap: bool = False) -> list[GameDetail]:
    """The games of a judgment, the latest round first; with `swap` A and B change places."""
    names = "BA" if swap else "AB"
    letters = {
        uid: names[place] if place < 2 else chr(65 + place)
        for place, uid in enumerate(judgment.pair.run_uids)
        if uid
    }
    rows = judgment.games.select_related("reply", "author").order_by("-round", "number")
    return [_detail(game, letters) for game in rows]


def _detail(game: Game, letters: dict[Any, str]) -> GameDetail:
    shown = [letters.get(uid, "?") for uid in game.order_shown]
    return GameDetail(
        game=game,
        order=", then ".join(shown) if shown else "not recorded",
        prompt=_prompt(game.reply.prompt) if game.reply else "",
        reply=str(loads(game.reply.text)["text"]) if game.reply else "",
    )


def _prompt(text: str) -> str:
    return "\n\n".join(f"{part['role']}:\n{part['content']}" for part in loads(text))
