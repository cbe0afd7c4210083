"""The trainers' own code, fed by the loaders here, trains on what our rows say.

    python check.py PLAIN WEIGHTED STEPS LOSSES CURATED PAIRS

PLAIN and WEIGHTED are sequences.parquet of the same batch, the second with --row-weight
trajectory. In STEPS, messages and tokens have advantages of their own, and in LOSSES losses
too, with --row-weight sequence; beside the four are slime.jsonl and prime-rl.bin. CURATED is the curated dataset's Parquet file, PAIRS a trl-preference.jsonl.
Checked, on a CPU and without a network:

    rows     each trained token of the dataset is in one row, after the prompt that was sampled from
    batches  ids, masks, log probabilities and advantages of TRL's inputs, verl's DataProto and
             OpenRLHF's Experiences, put together by their code, are those of the rows
    losses   their clipped policy loss of a model with random weights is the one that the rows
             predict; with weights, under every aggregation, the mean over trajectories of the
             mean over their tokens
    slime    its samples hold the same, by its formula (slime itself is on no package index)
    prime-rl its micro batches, decoded by its own codec under the fields of its 0.8, hold the
             same, weights and all three losses too, by the formula of its compute_loss, which
             gives the figures that its own code gave (it is on no package index)
    refusals TRL takes no advantages of messages, and only prime-rl the losses ce and ref_kl
    echo     what verl's batch and prime-rl's token exports have of our rows is in echo.parquet
    NeMo-RL  its training batch gives that loss by its formula (it is on no package index, and
             wants another Python)
    DPO      TRL's loss of the pairs is that of their messages and tools under the chat template
"""

import importlib.machinery
import importlib.util
import json
import math
import os
import pathlib
import random
import sys
import tempfile
import types

os.environ.update(HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="", TRL_EXPERIMENTAL_SILENCE="1", TOKENIZERS_PARALLELISM="false")
here = pathlib.Path(__file__).parent
sys.path[:0] = [str(here), str(here.parent / "trainers")]


def bare(*names):
    """Packages without their __init__, which imports what only a cluster needs."""
    for name in names:
        above = sys.modules.get(name.rpartition(".")[0])
        spec = importlib.machinery.PathFinder.find_spec(name, above.__path__ if above else None)
        package = types.ModuleType(name)
        package.__path__, package.__spec__ = list(spec.submodule_search_locations), spec
        sys.modules[name] = package


import datasets
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import torch
import transformers
import trl

for absent in ("deepspeed", "ray"):  # imported at the top of modules, and not called here
    sys.modules[absent] = importlib.util.module_from_spec(importlib.machinery.ModuleSpec(absent, None))
sys.modules["ray"].ObjectRef = object
bare("verl", "openrlhf", "openrlhf.utils", "openrlhf.models", "openrlhf.trainer", "openrlhf.trainer.ppo_utils")
from openrlhf.models.loss import PolicyLoss
from openrlhf.trainer.ppo_utils.experience import make_experience_batch, remove_padding_in_sequences, split_experience_batch
from verl.trainer.ppo import core_algos
from verl.workers.config import ActorConfig

import echo as given
import nemo_rl_batch
import openrlhf_experience
import rows as sequences
import tiny
import trl_grpo
import verl_batch

del sys.modules["deepspeed"], sys.modules["ray"]


class Sample(types.SimpleNamespace):
    """In the place of slime's, with the fields that its functions read."""

    from_dict = classmethod(lambda cls, fields: cls(**fields))


for name, holds in (("slime.utils.types", {"Sample": Sample}), ("slime.backends.megatron_utils.cp_utils", {"slice_log_prob_with_cp": lambda values, total, n: values})):
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(holds)
import slime_rollout

datasets.disable_progress_bars()
transformers.logging.set_verbosity_error()
scratch = pathlib.Path(tempfile.mkdtemp())
tokenizer = tiny.tokenizer()
model = tiny.model(len(tokenizer)).double().eval()
PAD = tokenizer.pad_token_id
close = lambda a, b: math.isclose(float(a), float(b), rel_tol=1e-6, abs_tol=1e-9)


def logprobs(ids, attention=None, positions=None, of=model):
    """Of each token but the first, under the model."""
    logits = of(input_ids=ids, attention_mask=attention, position_ids=positions).logits[:, :-1]
    return logits.double().log_softmax(-1).gather(-1, ids[:, 1:, None])[..., 0]


@torch.no_grad()
def losses(rows):
    """The clipped loss of each trained token of each row, one row at a time, by the formula."""
    for r in rows:
        now = logprobs(torch.tensor([r["prompt_ids"] + r["response_ids"]]))[0, len(r["prompt_ids"]) - 1 :]
        out = []
        for new, old, advantage, trains in zip(now.tolist(), r["logprobs"], r["advantages"], r["loss_mask"]):
            if trains:
                ratio = math.exp(new - old)
                out.append(-min(ratio * advantage, min(max(ratio, 0.8), 1.2) * advantage))
        yield out


def predicted(rows, by):
    each = list(losses(rows))
    tokens = sum(map(len, each))
    if by == "tokens":
        return sum(map(sum, each)) / tokens
    if by == "sequences":
        return sum(sum(x) / len(x) for x in each) / len(each)
    worth = {}
    for r, x in zip(rows, each):
        worth.setdefault(r["trajectory_id"], []).extend(x)
    return sum(sum(x) / len(x) for x in worth.values()) / len(worth)


def check_rows(rows, curated):
    """Every token that the dataset trains is in one row, with its log probability and behind its prompt."""
    trained = {}
    for t in pq.read_table(curated).to_pylist():
        for i, m in enumerate(t["messages"]):
            if m["sampled"] and t["calls"][m["call"]]["target"]:
                trained[t["trajectory_id"], i] = m
    lost = {t for (t, i), m in trained.items() if not m["prompt_delta_ids"]}
    for r in rows:
        assert r["trajectory_id"] not in lost
        for i, v in zip(r["messages"], r["versions"], strict=True):
            m = trained.pop((r["trajectory_id"], i))
            at = slice(v["start"], v["end"])
            assert r["response_ids"][at] == m["token_ids"] and r["logprobs"][at] == m["logprobs"] and all(r["loss_mask"][at])
            before = r["prompt_ids"] + r["response_ids"][: v["start"]]
            assert before[-len(m["prompt_delta_ids"]) :] == m["prompt_delta_ids"]
    assert {t for t, _ in trained} == lost, "a trained token is in no row"


def same_rows(got, rows):
    """got has, of each row: ids, and of its trained tokens the ids, log probabilities and advantages."""
    want = [(r["prompt_ids"] + r["response_ids"], [(i, p, a) for i, p, a, m in zip(r["response_ids"], r["logprobs"], r["advantages"], r["loss_mask"]) if m]) for r in rows]
    got, want = sorted(got), sorted(want)
    assert [ids for ids, _ in got] == [ids for ids, _ in want]
    for (_, a), (_, b) in zip(got, want):
        assert [x[0] for x in a] == [x[0] for x in b] and all(close(x, y) for k, l in zip(a, b, strict=True) for x, y in zip(k[1:], l[1:])), (a, b)


def of_batch(ids, attention, response, mask, logprobs, advantages):
    for i, a, r, m, p, v in zip(ids, attention, response, mask.bool(), logprobs, advantages, strict=True):
        yield i[a.bool()].tolist(), list(zip(r[m].tolist(), p[m].tolist(), v[m].tolist()))


@torch.no_grad()
def check_trl(path, weighted):
    for loss_type, mean, constant in (("bnpo", "tokens", 1), ("dapo", "tokens", 1), ("dr_grpo", "tokens", 7), ("grpo", "sequences", 1)):
        rows = sequences.read(path, mean)
        n = len(rows)
        config = trl.GRPOConfig(output_dir=str(scratch), loss_type=loss_type, per_device_train_batch_size=n, num_generations=n, max_completion_length=7, beta=0.0, epsilon=0.2, use_cpu=True, bf16=False, report_to=[], disable_tqdm=True)
        data = datasets.Dataset.from_list([{**r, "prompt": ""} for r in rows])
        trainer = trl_grpo.FinishedRollouts(model, reward_funcs=[lambda completions, **_: [0.0] * len(completions)], args=config, train_dataset=data, processing_class=tokenizer)
        trainer.current_gradient_accumulation_steps = 1
        batch = next(iter(trainer.get_train_dataloader()))
        trainer.model.eval()
        x = trainer._generate_and_score_completions(batch)
        ids, attention = torch.cat([x["prompt_ids"], x["completion_ids"]], 1), torch.cat([x["prompt_mask"], x["completion_mask"]], 1)
        same_rows(of_batch(ids, attention, x["completion_ids"], x["tool_mask"], x["old_per_token_logps"], x["advantages"][:, None].expand_as(x["tool_mask"])), rows)
        want = predicted(sequences.read(PLAIN), "trajectories") if weighted else predicted(rows, mean)
        if constant != 1:
            want *= sum(r["tokens"] for r in rows) / (n * constant)
        got = trainer._compute_loss(trainer.model, x)
        assert close(got, want), (loss_type, float(got), want)
        print(f"TRL {loss_type}: {n} rows, loss {want:.6f}")


@torch.no_grad()
def check_verl(path, weighted):
    for mode, mean in (("token-mean", "tokens"), ("seq-mean-token-mean", "sequences")):
        rows = sequences.read(path, mean)
        x = verl_batch.batch(rows, PAD).batch
        same_rows(of_batch(x["input_ids"], x["attention_mask"], x["responses"], x["response_mask"], x["rollout_log_probs"], x["advantages"]), rows)
        width = x["responses"].shape[1]
        now = logprobs(x["input_ids"], x["attention_mask"], x["position_ids"])[:, -width:]
        config = ActorConfig(strategy="fsdp", rollout_n=1, ppo_micro_batch_size_per_gpu=1, loss_agg_mode=mode, clip_ratio_c=1e9)  # no second clip of negative advantages
        got, _ = core_algos.compute_policy_loss_vanilla(x["old_log_probs"], now, x["advantages"], x["response_mask"], mode, config)
        want = predicted(sequences.read(PLAIN), "trajectories") if weighted else predicted(rows, mean)
        assert close(got, want), (mode, float(got), want)
        print(f"verl {mode}: {len(rows)} rows, loss {want:.6f}")


@torch.no_grad()
def check_openrlhf(path, weighted):
    for token_level, mean in ((True, "tokens"), (False, "sequences")):
        rows = sequences.read(path, mean)
        items = [i for e in openrlhf_experience.experiences(rows) for i in remove_padding_in_sequences(split_experience_batch(e))]  # as its replay buffer does
        x = make_experience_batch(items)
        same_rows(of_batch(x.sequences, x.attention_mask, x.sequences[:, 1:], x.action_mask, x.rollout_log_probs, x.advantages), rows)
        now = logprobs(x.sequences, x.attention_mask)
        got = PolicyLoss(0.2, 0.2, token_level_loss=token_level)(now, x.action_log_probs, x.advantages, action_mask=x.action_mask)[0]
        want = predicted(sequences.read(PLAIN), "trajectories") if weighted else predicted(rows, mean)
        assert close(got, want), (token_level, float(got), want)
        print(f"OpenRLHF, {'token' if token_level else 'sequence'} level: {len(rows)} rows, loss {want:.6f}")


def check_slime(path, rows):
    """By its formula: a sum over samples of the sum over tokens divided by the tokens of all samples of the rollout."""
    os.environ["ROLLMILL_SAMPLES"] = str(path.with_name("slime.jsonl"))
    samples = slime_rollout.generate_rollout(None, 0, None)
    data = {"rewards": slime_rollout.advantages(None, samples)[1], "total_lengths": [len(s.tokens) for s in samples], "response_lengths": [s.response_length for s in samples], "kl": [torch.zeros(s.response_length) for s in samples]}
    slime_rollout.of_tokens(None, data)
    assert all(isinstance(r, float) for r in data["rewards"]) and len(data["returns"]) == len(samples)
    got = []
    for s, each in zip(samples, data["advantages"], strict=True):
        n = len(s.tokens) - s.response_length
        got.append({"prompt_ids": s.tokens[:n], "response_ids": s.tokens[n:], "logprobs": s.rollout_log_probs, "loss_mask": s.loss_mask, "advantages": each.tolist(), "trajectory_id": s.rollout_id})
    got, want = predicted(got, "trajectories"), predicted(rows, "trajectories")
    assert close(got, want), (got, want)
    print(f"slime: {len(samples)} samples, loss {want:.6f}")


# The fields of prime-rl's MicroBatch, in their order; those with a default come last.
Numbers = list[float] | None
MicroBatch = msgspec.defstruct("MicroBatch", [
    ("input_ids", list[int]), ("loss_mask", list[bool]), ("advantages", list[float]), ("inference_logprobs", list[float]), ("position_ids", list[int]),
    ("sequence_lengths", list[int]), ("temperatures", list[float]), ("env_names", list[str]), ("seq_lens", list[int]),
    ("ref_logprobs", Numbers, None), ("routed_experts", None, None), ("mm_kwargs", None, None), ("mm_token_type_ids", None, None),
    ("rl_weights", Numbers, None), ("ce_weights", Numbers, None), ("ref_kl_weights", Numbers, None),
], array_like=True, omit_defaults=True, forbid_unknown_fields=True)


def prime_rl_terms(new, old, advantage, ref):
    """Of each token in each of its losses: a step is not taken where a probability has left the range; the KL term stays."""
    moved, ratio, drift = new.exp() - old.exp(), (new - old).exp(), 1e-3 * (new - old) ** 2
    kept = torch.where(advantage > 0, moved <= 0.2, moved >= -0.2)
    return {"rl": drift - kept * advantage * ratio, "ce": -new, "ref_kl": drift - (moved >= -0.2) * (ref - new) * ratio}


def prime_rl_loss(samples):
    """Three means, each over the tokens whose weight in that loss is not 0."""
    sums, counts = dict.fromkeys(("rl", "ce", "ref_kl"), 0.0), dict.fromkeys(("rl", "ce", "ref_kl"), 0)
    for s in samples:
        new, old, advantage, mask = (torch.tensor(s[k], dtype=torch.float64) for k in ("new", "old", "advantages", "mask"))
        ref = torch.tensor(s["ref"] or [0.0] * len(mask), dtype=torch.float64)
        for name, terms in prime_rl_terms(new, old, advantage, ref).items():
            weight = torch.tensor(s[name] or [float(name == "rl")] * len(mask), dtype=torch.float64) * (mask if name == "rl" else 1)
            sums[name] += (weight * terms)[weight != 0].sum()
            counts[name] += int((weight != 0).sum())
    return sum(sums[k] / max(1, counts[k]) for k in sums)


def check_prime_rl_vectors():
    """The formula gives what prime-rl's own code gave (its file and commit are in the JSON)."""
    cases = json.loads((here / "prime_rl_loss.json").read_text())["cases"]
    assert all(close(prime_rl_loss(c["samples"]), c["loss"]) for c in cases), [(float(prime_rl_loss(c["samples"])), c["loss"]) for c in cases]
    print(f"prime-rl: the formula gives the losses of {len(cases)} batches of its own code")


@torch.no_grad()
def check_prime_rl(path, rows, weighted, losses=False):
    data = path.with_name("prime-rl.bin").read_bytes()
    batches = msgspec.msgpack.decode(data, type=list[MicroBatch])
    assert msgspec.msgpack.encode(batches) == data
    got, samples = [], []
    for b in batches:
        n, mask = len(b.input_ids), torch.tensor(b.loss_mask)
        streams = [x or b.input_ids for x in (b.ref_logprobs, b.rl_weights, b.ce_weights, b.ref_kl_weights)]
        assert {len(x) for x in (b.loss_mask, b.advantages, b.inference_logprobs, b.temperatures, b.env_names, *streams)} == {n}
        assert set(b.temperatures) == {1.0} and b.position_ids == list(range(n)) and b.sequence_lengths == b.seq_lens == [n] and not mask[0]
        assert losses or (b.rl_weights is not None) == weighted and b.ref_logprobs is b.ce_weights is b.ref_kl_weights is None
        old, advantage = torch.tensor(b.inference_logprobs, dtype=torch.float64), torch.tensor(b.advantages, dtype=torch.float64)
        got.append((b.input_ids, list(zip(torch.tensor(b.input_ids)[mask].tolist(), old[mask].tolist(), advantage[mask].tolist()))))
        now = [0.0] + logprobs(torch.tensor([b.input_ids]))[0].tolist()
        samples.append({"new": now, "old": b.inference_logprobs, "advantages": b.advantages, "mask": b.loss_mask, "ref": b.ref_logprobs, "rl": b.rl_weights, "ce": b.ce_weights, "ref_kl": b.ref_kl_weights})
    same_rows(got, rows)
    got, want = prime_rl_loss(samples), documented(rows, "trajectories" if weighted else "tokens")
    assert close(got, want), (float(got), want)
    print(f"prime-rl: {len(batches)} micro batches, loss {want:.6f}")


def documented(rows, by):
    """What the columns of sequences.parquet say under prime-rl's losses: a mean for each loss, token by token."""
    each, worth = {"rl": [], "ce": [], "ref_kl": []}, {}
    for r in rows:
        now = logprobs(torch.tensor([r["prompt_ids"] + r["response_ids"]]))[0, len(r["prompt_ids"]) - 1 :]
        old, advantage, ref = (torch.tensor(x, dtype=torch.float64) for x in (r["logprobs"], r["advantages"], r["ref_logprobs"] or [0.0] * len(now)))
        terms = prime_rl_terms(now, old, advantage, ref)
        for k, trains in enumerate(r["loss_mask"]):
            for name, all_of_it in each.items():
                weights = r[name + "_weights"]
                weight = weights[k] if weights else float(name == "rl")
                if trains and weight:
                    all_of_it.append(weight * r["weight"] * float(terms[name][k]))
                    worth.setdefault(r["trajectory_id"], []).append(float(terms[name][k]))
    if by == "trajectories":  # of rows whose weights make it so, and that have the loss rl alone
        return sum(sum(x) / len(x) for x in worth.values()) / len(worth)
    return sum(sum(x) / len(x) for x in each.values() if x)


@torch.no_grad()
def check_nemo_rl(path, weighted):
    for token_level, mean in ((True, "tokens"), (False, "sequences")):
        rows = sequences.read(path, mean)
        x = nemo_rl_batch.fields(rows, PAD)
        attention = torch.arange(x["input_ids"].shape[1]) < x["input_lengths"][:, None]
        assert not x["token_mask"][:, 0].any()
        same_rows(of_batch(x["input_ids"], attention, x["input_ids"], x["token_mask"], x["generation_logprobs"], x["advantages"]), rows)
        mask, advantages = (x["token_mask"] * x["sample_mask"][:, None])[:, 1:].double(), x["advantages"][:, 1:]
        ratio = ((logprobs(x["input_ids"], attention.long()) - x["prev_logprobs"][:, 1:]) * mask).exp()
        loss = torch.max(-advantages * ratio, -advantages * ratio.clamp(0.8, 1.2)) * mask
        got = loss.sum() / mask.sum() if token_level else (loss.sum(1) / mask.sum(1)).mean()
        want = predicted(sequences.read(PLAIN), "trajectories") if weighted else predicted(rows, mean)
        assert close(got, want), (token_level, float(got), want)
        print(f"NeMo-RL, {'token' if token_level else 'sequence'} level: {len(rows)} rows, loss {want:.6f}")


def answer(of, pair, which):
    """The log probability of an answer behind its prompt."""
    tools = json.loads(pair["tools"]) if pair.get("tools") else None
    asked = tokenizer.apply_chat_template(pair["prompt"], tools=tools, add_generation_prompt=True, return_dict=False)
    whole = tokenizer.apply_chat_template(pair["prompt"] + pair[which], tools=tools, return_dict=False)
    assert whole[: len(asked)] == asked
    return logprobs(torch.tensor([whole]), of=of)[0, len(asked) - 1 :].sum()


@torch.no_grad()
def check_dpo(path):
    torch.manual_seed(1)
    reference = transformers.LlamaForCausalLM(model.config).double().eval()
    config = trl.DPOConfig(output_dir=str(scratch), beta=0.1, per_device_train_batch_size=64, use_cpu=True, bf16=False, report_to=[], disable_tqdm=True, max_length=None)
    data = datasets.load_dataset("json", data_files=str(path), split="train", cache_dir=str(scratch / "cache"))
    trainer = trl.DPOTrainer(model=model, ref_model=reference, args=config, train_dataset=data, processing_class=tokenizer)
    trainer.model.eval()
    got = trainer.compute_loss(trainer.model, next(iter(trainer.get_train_dataloader())))
    pairs = [json.loads(line) for line in path.read_text().splitlines()]
    margins = [answer(model, p, "chosen") - answer(reference, p, "chosen") - answer(model, p, "rejected") + answer(reference, p, "rejected") for p in pairs]
    want = -torch.nn.functional.logsigmoid(0.1 * torch.stack(margins)).mean()
    assert close(got, want) and not close(want, math.log(2)), (float(got), float(want))
    print(f"TRL DPO: {len(pairs)} pairs, {sum(bool(p.get('tools')) for p in pairs)} with tools, loss {want:.6f}")


@torch.no_grad()
def check_echo(path):
    """The log probabilities of the model, through verl's batch and prime-rl's records, are those of each row."""
    rows = pq.read_table(path).to_pylist()
    data = verl_batch.batch(sequences.read(path), PAD)
    x, width = data.batch, data.batch["responses"].shape[1]
    x["old_log_probs"] = logprobs(x["input_ids"], x["attention_mask"], x["position_ids"])[:, -width:].float()
    x["entropys"] = -x["old_log_probs"]
    verl_batch.echo(path, data, scratch / "verl.parquet")
    exports = scratch / "token_exports"
    exports.mkdir()
    with open(exports / "rank_0.jsonl", "w") as f:
        for r in reversed(rows):  # as several ranks would
            ids, start = r["prompt_ids"] + r["response_ids"], len(r["prompt_ids"])
            now = [0.0] + logprobs(torch.tensor([ids]))[0].tolist()
            masked = [None] * start + [bool(k % 2) for k in range(len(ids) - start)]
            f.write(json.dumps({"schema_version": 1, "token_ids": ids, "trainer_logprobs": now, "entropy": [-v for v in now], "is_masked": masked}) + "\n")
    given.write(scratch / "prime-rl.parquet", rows, **given.prime_rl(rows, exports))
    for name in ("verl", "prime-rl"):
        for r, e in zip(rows, pq.read_table(scratch / f"{name}.parquet").to_pylist(), strict=True):
            want = logprobs(torch.tensor([r["prompt_ids"] + r["response_ids"]]))[0, len(r["prompt_ids"]) - 1 :].tolist()
            assert e["trajectory_id"] == r["trajectory_id"] and e["sequence"] == r["sequence"] and e["loss"] is not None
            for old, entropy, v, m in zip(e["old_logprobs"], e["entropies"], want, r["loss_mask"], strict=True):
                assert not m or abs(old - v) < 1e-4 and abs(entropy + v) < 1e-4, (name, old, entropy, v)
        print(f"{name} gives back the log probabilities of {len(rows)} rows")


def refuses(says, check, path):
    try:
        check(path, False)
    except ValueError as error:
        assert says in str(error), error
    else:
        raise AssertionError(f"{check.__name__} took {path}")


def check_rl_weights(path):
    """Weights of the loss rl, without others, are in the advantages that trainers get."""
    table = pq.read_table(path)
    at = table.schema.get_field_index("rl_weights")
    halves = pa.array([[0.5 * m for m in mask] for mask in table.column("loss_mask").to_pylist()], table.schema.field(at).type)
    pq.write_table(table.set_column(at, table.schema.field(at), halves), scratch / "halves.parquet")
    for got, want in zip(sequences.read(scratch / "halves.parquet"), sequences.read(path), strict=True):
        assert all(close(2 * a, b) for a, b in zip(got["advantages"], want["advantages"], strict=True))


PLAIN, WEIGHTED, STEPS, LOSSES, curated, pairs = map(pathlib.Path, sys.argv[1:])
check_rows(sequences.read(PLAIN), curated)
check_prime_rl_vectors()
for path in (PLAIN, WEIGHTED, STEPS):
    print(path)
    rows = sequences.read(STEPS if path == STEPS else PLAIN)
    if path != STEPS:
        check_trl(path, path == WEIGHTED)
    check_verl(path, path == WEIGHTED)
    check_openrlhf(path, path == WEIGHTED)
    check_slime(path, rows)
    check_prime_rl(path, rows, path == WEIGHTED)
    check_nemo_rl(path, path == WEIGHTED)
assert any(len(set(r["advantages"])) > 2 for r in rows), "no row of STEPS has an advantage for each token"
refuses("advantages of their own", check_trl, STEPS)
check_rl_weights(STEPS)
print(LOSSES)
rows = pq.read_table(LOSSES).to_pylist()
for r in rows:
    r["advantages"] = r["advantages"] or [r["advantage"] * m for m in r["loss_mask"]]
check_prime_rl(LOSSES, rows, False, losses=True)
for check in (check_trl, check_verl, check_openrlhf, check_nemo_rl):
    refuses("which this trainer does not have", check, LOSSES)
check_echo(PLAIN)
check_dpo(pairs)
