"""A trainer for `rollmill submit --backend command` that calls OpenPipe ART in
process, for versions whose server cannot train over HTTP (0.5.2 and later; 0.5.18
removed the route).

    rollmill submit --in runs/demo/epoch-0/curate --backend command --wait \\
        --trainer 'python -m rollmill.art JOBS' \\
        --settings name=run7 --settings project=demo --settings base_model=Qwen/Qwen2.5-3B-Instruct \\
        --settings learning_rate=1e-6

JOBS is a folder that outlives the commands. ART's library contains both the
inference engine and the trainer, so one process has to run between the epochs:
the first request starts it (its log is JOBS/server.log), it trains the jobs of
JOBS in order, and every answer has its inference URL and the policy's name, for
the next rollout (`--policy RECEIPT`). `python -m rollmill.art JOBS --stop` ends it.

Settings: name, project, base_model; internal_config, server_args and train_args
as JSON objects (train_args are keywords of backend.train); learning_rate; and
art_backend, MODULE:CLASS, default art.local:LocalBackend. The process uses the
settings of the request that starts it.

ART needs a batch as objects in memory, so unlike rollmill this holds all of it.
Needs openpipe-art[backend] and pyarrow.
"""
