import dspy
from each import MODEL, TASK, add, each


def by(kind):
    async def run(url, stream):
        lm = dspy.LM("openai/" + MODEL, api_base=url, api_key="x", model_type=kind, cache=False)
        react = dspy.ReAct("question -> answer", tools=[add], max_iters=5)
        with dspy.context(lm=lm):
            if not stream:
                return (await react.acall(question=TASK)).answer
            async for item in dspy.streamify(react)(question=TASK):
                pass
            return item.answer

    return run


each(chat=by("chat"), responses=by("responses"))
