"""A model that is trained at a Tinker service, of which no request is sent twice."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from .._need import need
from . import model_config

# The longest that the result of a request is waited for, in seconds.
PATIENCE = 3600


class Lost(Exception):
    """Nobody knows whether the service has accepted a request."""


class Model:
    """A model of this worker's own. Dropped, it leaves nothing behind but what it saved.

    A service may take a request that is sent twice for two, whatever its keys say, and
    the SDK repeats requests whose answer is lost, at two levels. So this sends each
    request once, shows its id to sent before its result is awaited, and raises Lost if
    there is none.
    """

    def __init__(self, service: Any, client: Any) -> None:
        self._client, self._kind = client, ""
        self.run = str(client.model_id)
        self.sent: Callable[[str, str], None] = lambda kind, request: None
        service.holder.execute_with_retries = self._once

    async def _once(self, send: Callable[..., Any], *args: Any, **options: Any) -> Any:
        tinker = need("tinker", "training")
        try:
            answer = await send(*args, **options)
        except (tinker.APIConnectionError, tinker.InternalServerError, TimeoutError) as error:
            raise Lost(f"{type(error).__name__}: {error}") from error
        except tinker.APIStatusError as error:
            if error.status_code in (408, 409, 429):
                raise Lost(f"{type(error).__name__}: {error}") from error
            raise
        if self._kind:
            self.sent(self._kind, answer.request_id)
        return answer

    def learn(self, losses: Mapping[str, Any], adam: Mapping[str, float]) -> dict[str, list[Any]]:
        """One optimizer step; the log probabilities before it, by loss."""
        types = need("tinker.types", "training", "tinker")
        self._kind = "train"
        passes = {loss: self._client.forward_backward([d for _, d in data], loss) for loss, data in losses.items()}
        stepped = self._client.optim_step(types.AdamParams(**adam))
        found = {loss: [out["logprobs"].data for out in p.result(PATIENCE).loss_fn_outputs] for loss, p in passes.items()}
        stepped.result(PATIENCE)
        return found

    def logprobs(self, data: list[Any]) -> list[list[float]]:
        """The log probabilities of datums under the weights of now; nothing is learnt."""
        self._kind = ""
        return [list(out["logprobs"].data) for out in self._client.forward(data, "cross_entropy").result(PATIENCE).loss_fn_outputs]

    def save(self, name: str) -> str:
        """Save the weights for sampling, and the whole state, under one name; the path for sampling."""
        self._kind = "sampler"
        path = str(self._client.save_weights_for_sampler(name).result(PATIENCE).path)
        self._kind = "state"
        self._client.save_state(name).result(PATIENCE)
        self._kind = ""
        return path

    def vocabulary(self, base: str) -> int:
        """How many tokens the model has; more than its tokenizer names, where its size is padded."""
        return int(getattr(model_config(base), "vocab_size", 0) or len(self._client.get_tokenizer()))


def restore(service: Any, saved: str, base: str, rank: int, seed: int) -> Model:
    """A new model: with the weights and the optimizer of a saved one, or with a fresh adapter."""
    service.holder._constructor_kwargs["max_retries"] = 0  # of the clients that it makes from now on
    try:
        if saved:
            return Model(service, service.create_training_client_from_state_with_optimizer(state_of(saved)))
        return Model(service, service.create_lora_training_client(base_model=base, rank=rank, seed=seed))
    except need("tinker", "training").APIConnectionError as error:
        raise Lost(f"making a model: {error}") from error


def state_of(path: str) -> str:
    """The path of the state that was saved with the weights for sampling at path."""
    found = re.fullmatch(r"tinker://([^/]+)/(?:sampler_weights/)?([^/]+)", path)
    if not found:
        raise ValueError(f"{path!r} is no path of saved weights, tinker://RUN/sampler_weights/NAME")
    return f"tinker://{found[1]}/weights/{found[2]}"


def result(service: Any, kind: str, request: str) -> Any:
    """The result of a request that another process sent."""
    types = need("tinker.types", "asking for a result", "tinker")
    futures = need("tinker.lib.api_future_impl", "asking for a result", "tinker")
    answer = {"sampler": types.SaveWeightsForSamplerResponseInternal, "state": types.SaveWeightsResponse}[kind]
    asked = futures._APIFuture(answer, service.holder, types.UntypedAPIFuture(request_id=request), request_start_time=time.time(), request_type=kind)
    return asked.result(PATIENCE)
