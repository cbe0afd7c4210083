# An agent that knows an OpenAI URL and nothing else: two tasks with a tool and a sub-agent, a stream, two choices, a try that
# fails and is repeated, an answer that a limit ends, a stream that it leaves,
# a failure, and a stream that breaks off.
import openai

client = openai.OpenAI(max_retries=0)
tools = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}}}]


def ask(*messages, extra={}, **more):
    extra_body = {"return_token_ids": True, **extra}
    return client.chat.completions.create(model="policy", messages=messages, logprobs=True, extra_body=extra_body, **more)


def user(text):
    return {"role": "user", "content": text}


for numbers in ("1 and 2", "3 and 4"):
    about = {"metadata": {"session_id": "session of " + numbers, "user_id": "canary-id", "note": "canary-note", "tags": ["canary-tag"]}}
    messages = [{"role": "system", "content": "Add."}, user(numbers)]
    while True:
        answer = ask(*messages, tools=tools, user="canary-user", extra=about).choices[0].message
        messages.append(answer.model_dump(exclude_none=True, include={"role", "content", "tool_calls"}))
        if not answer.tool_calls:
            break
        ask({"role": "system", "content": "Check."}, user("Is it right? " + numbers), extra=about)
        messages += [{"role": "tool", "tool_call_id": c.id, "content": "7"} for c in answer.tool_calls]
assert len([c for c in ask(user("stream"), stream=True) if c.choices]) > 2
assert len([c for c in ask(user("a stream and a limit"), stream=True, max_tokens=3) if c.choices]) > 2
assert len(ask(user("two"), n=2).choices) == 2
ask(user("RETRY, with the key sk-canary0123456789abcdef0123456789abcdef"))
ask(user("a limit"), max_tokens=2)
client.responses.create(model="policy", instructions="Be brief.", input="by responses", user="canary-user")
list(client.responses.create(model="policy", instructions="Be brief.", input=[user("by a stream of responses")], stream=True))
client.post("/messages", body={"model": "policy", "max_tokens": 50, "system": "Be brief.", "messages": [user("by messages")], "metadata": {"user_id": "canary-id"}}, cast_to=object)
left = ask(user("LEAVE"), stream=True)
next(left)
left.close()
for text, stream in (("FAIL", False), ("CUT", True)):
    try:
        answer = ask(user(text), stream=stream)
        assert stream and not list(answer)
    except openai.APIError as e:
        print(text, type(e).__name__)
