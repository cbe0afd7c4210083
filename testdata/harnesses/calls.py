"""Reads streamed tool calls with OpenAI's client and with LiteLLM: calls.py openai|litellm URL CASES.

The model of case 7 is case-7. A line of JSON each: the calls as [id, name, arguments], or what the client raised."""

import json
import os
import sys

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # or it fetches prices
reader, url, cases = sys.argv[1], sys.argv[2], int(sys.argv[3])
messages = [{"role": "user", "content": "hi"}]

if reader == "openai":
    from openai import OpenAI

    client = OpenAI(base_url=url, api_key="x", max_retries=0)

    def read(model):
        with client.chat.completions.stream(model=model, messages=messages) as stream:
            return stream.get_final_completion()
else:
    import litellm

    litellm.suppress_debug_info = True

    def read(model):
        chunks = litellm.completion(model="openai/" + model, api_base=url, api_key="x", messages=messages, stream=True, max_retries=0)
        return litellm.stream_chunk_builder(list(chunks))


for k in range(cases):
    try:
        calls = read(f"case-{k}").choices[0].message.tool_calls or []
        out = [[c.id or "", c.function.name or "", c.function.arguments or ""] for c in calls]
    except Exception as e:  # what it raises is how it reads the stream
        out = f"{type(e).__name__}: {e}"
    print(json.dumps(out), flush=True)
