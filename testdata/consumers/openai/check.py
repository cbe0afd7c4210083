"""Run OpenAI's own client against our test server of its fine-tuning API: a file, a
job, its events and checkpoints, a second job that is cancelled. Prints the results
as JSON, for the test that compares them with those of our client.

    OPENAI_BASE_URL=URL OPENAI_API_KEY=KEY python check.py FILE JOB.json
"""

import json
import pathlib
import sys

from openai import AuthenticationError, OpenAI

client = OpenAI()
lines = pathlib.Path(sys.argv[1])
job = json.loads(pathlib.Path(sys.argv[2]).read_text())

try:
    OpenAI(api_key="sk-wrong", max_retries=0).files.list()
    raise SystemExit("a wrong key was taken")
except AuthenticationError:
    pass

file = client.files.create(file=lines, purpose="fine-tune")
while file.status in ("uploaded", "pending", "running"):
    file = client.files.retrieve(file.id)
assert file.status == "processed", file
assert file.id in [f.id for f in client.files.list(purpose="fine-tune")]

made = client.fine_tuning.jobs.create(training_file=file.id, **job)
states = [made.status]
now = made
while now.status not in ("succeeded", "failed", "cancelled"):
    now = client.fine_tuning.jobs.retrieve(made.id)
    states.append(now.status)
events = client.fine_tuning.jobs.list_events(made.id, limit=1)
checkpoints = list(client.fine_tuning.jobs.checkpoints.list(made.id, limit=1))

other = client.fine_tuning.jobs.create(training_file=file.id, **job)
cancelled = client.fine_tuning.jobs.cancel(other.id)
assert {made.id, other.id} <= {j.id for j in client.fine_tuning.jobs.list(limit=1)}

print(
    json.dumps(
        {
            "states": states,
            "model": now.fine_tuned_model,
            "tokens": now.trained_tokens,
            "event": events.data[0].message,
            "checkpoints": [{"step": c.step_number, "model": c.fine_tuned_model_checkpoint, "train_loss": c.metrics.train_loss} for c in checkpoints],
            "cancelled": cancelled.status,
        }
    )
)
