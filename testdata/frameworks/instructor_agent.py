import instructor
from each import MODEL, TASK, each
from openai import OpenAI
from pydantic import BaseModel, field_validator


class Sum(BaseModel):
    total: int

    @field_validator("total")
    def right(cls, total):
        if total != 17 + 25:
            raise ValueError(f"it is {17 + 25}")
        return total


def by(mode):
    def run(url, stream):
        client = instructor.from_openai(OpenAI(base_url=url), mode=mode)
        got = client.chat.completions.create(model=MODEL, response_model=Sum, messages=[{"role": "user", "content": TASK}], max_retries=2)
        return f"It is {got.total}."

    return run


each(chat=by(instructor.Mode.TOOLS), responses=by(instructor.Mode.RESPONSES_TOOLS))
