"""prime-rl on finished rollouts, with several data ranks or short sequences packed together.
Its trainer, started alone with the transport "filesystem", takes what this writes of
sequences.parquet by prime-rl's own packing; run it once for each step:

    python prime_rl_ranks.py sequences.parquet OUTPUT_DIR STEP RANKS SEQ_LEN

For one data rank, without packing, `rollmill submit --backend file --kinds prime-rl` writes
that file itself. The weights are rl_weights, which multiply the KL term of the loss too, a
mean over tokens; messages with losses of their own have its three weights. Recorded log
probabilities are taken for those of temperature 1."""

import asyncio
import pathlib
import sys

import pyarrow.parquet as pq
from prime_rl.trainer.batch import build_bin_cost, prepare_batch
from prime_rl.transports.rollouts import FileSystemMicroBatchSender, TrainingSample


def sample(r):
    skip, n = len(r["prompt_ids"]), len(r["prompt_ids"]) + len(r["response_ids"])
    mask = [False] * skip + r["loss_mask"]

    def tokens(values):
        return values and [0.0] * skip + values

    def weights(values):
        return values and [0.0] * skip + [w * r["weight"] for w in values]

    return TrainingSample(
        token_ids=r["prompt_ids"] + r["response_ids"], mask=mask, logprobs=[0.0] * skip + r["logprobs"], temperatures=[1.0] * n, env_name="rollmill",
        advantages=[0.0] * skip + (r["advantages"] or [r["advantage"] * m for m in r["loss_mask"]]),
        ref_logprobs=tokens(r["ref_logprobs"]), rl_weights=weights(r["rl_weights"]) or [r["weight"] * m for m in mask],
        ce_weights=weights(r["ce_weights"]), ref_kl_weights=weights(r["ref_kl_weights"]),
    )


def write(path, output, step, ranks, length):
    samples = [sample(r) for r in pq.read_table(path).to_pylist()]
    if (longest := max(len(s.token_ids) for s in samples)) > length:
        raise ValueError(f"a sequence has {longest} tokens, more than {length}: prime-rl would cut it")
    grid = prepare_batch(samples, length, ranks, build_bin_cost(None))
    asyncio.run(FileSystemMicroBatchSender(pathlib.Path(output), ranks, step).send(grid))


if __name__ == "__main__":
    write(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
