"""The work of a rollout in a harness with one Python process: episodes of two
turns, concurrent under asyncio, with the openai package for calls, pydantic for
the recorded data and JSON for the output.

    harness.py BASE_URL EPISODES CONCURRENCY OUT
"""
import asyncio
import sys
from typing import Any

from openai import AsyncOpenAI
from pydantic import BaseModel, Field


class EpisodeItem(BaseModel):
    role: str
    content: str
    logprobs: Any | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)


class Trajectory(BaseModel):
    episode: list[EpisodeItem]
    reward: float | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)


class TrajectoryCollection(BaseModel):
    trajectories: list[list[Trajectory]]
    run_id: str


async def episode(client: AsyncOpenAI, number: int) -> Trajectory:
    messages: list[dict[str, Any]] = []
    items: list[EpisodeItem] = []
    for text in (f"what is {number} + 1?", "are you sure?"):
        messages.append({"role": "user", "content": text})
        items.append(EpisodeItem(role="user", content=text))
        answer = await client.chat.completions.create(model="policy", messages=messages, logprobs=True)
        choice = answer.choices[0]
        messages.append({"role": "assistant", "content": choice.message.content})
        items.append(EpisodeItem(role="assistant", content=choice.message.content, logprobs=choice.logprobs, metadata={"model": answer.model}))
    return Trajectory(episode=items, metadata={"example": number})


async def main(url: str, episodes: int, concurrency: int, out: str) -> None:
    limit = asyncio.Semaphore(concurrency)
    async with AsyncOpenAI(base_url=url, api_key="none") as client:

        async def one(number: int) -> Trajectory:
            async with limit:
                return await episode(client, number)

        done = await asyncio.gather(*(one(n) for n in range(episodes)))
    collection = TrajectoryCollection(trajectories=[[t] for t in done], run_id="bench")
    with open(out, "w") as f:
        f.write(collection.model_dump_json())


asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]))
