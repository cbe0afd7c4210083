"""A callback of LiteLLM's proxy that writes what `rollmill import --from litellm` reads: a JSON line for each call.

LiteLLM's own record of a stream has neither token ids nor logprobs, so a line also has the chunks of its stream, as the agent
got them, and how it ended. Each line is written at once: nothing waits when the proxy ends. CALLS_LOG names the file.
"""

import json
import os

from litellm.integrations.custom_logger import CustomLogger


class Logger(CustomLogger):
    def __init__(self):
        super().__init__()
        self.file = open(os.environ.get("CALLS_LOG", "calls.jsonl"), "a", buffering=1)
        self.streams = {}  # by call, until both its chunks and its record are complete

    def write(self, kwargs):
        record = dict(kwargs["standard_logging_object"])
        record.pop("model_map_information", None)  # 8 kB of prices
        call = record["litellm_call_id"]
        stream = self.streams.get(call)
        if stream and not stream["end"]:
            stream["kwargs"] = kwargs  # its end writes it
            return
        line = {"standard_logging_object": record}
        if self.streams.pop(call, None):
            line |= {"chunks": stream["chunks"], "end": stream["end"]}
        self.file.write(json.dumps(line, default=str) + "\n")

    async def async_log_success_event(self, kwargs, response_obj, start_time, end_time):
        self.write(kwargs)

    async def async_log_failure_event(self, kwargs, response_obj, start_time, end_time):
        self.write(kwargs)

    async def async_post_call_streaming_iterator_hook(self, user_api_key_dict, response, request_data):
        stream, end = {"chunks": [], "end": ""}, "closed by the agent"
        self.streams[request_data.get("litellm_call_id")] = stream
        try:
            async for chunk in response:
                stream["chunks"].append(json.loads(chunk.model_dump_json(exclude_none=True)) if hasattr(chunk, "model_dump_json")
                                        else chunk.decode() if isinstance(chunk, bytes) else str(chunk))
                yield chunk
            end = "complete"
        except Exception as e:
            end = f"{type(e).__name__}: {e}"
            raise
        finally:
            stream["end"] = end
            if "kwargs" in stream:
                self.write(stream["kwargs"])


logger = Logger()
