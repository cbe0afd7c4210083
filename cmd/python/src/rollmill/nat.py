"""python -m rollmill.nat CONFIG.yml > rollmill.yaml

Converts the file that `nat finetune --config_file` of NVIDIA NeMo Agent Toolkit (NAT)
reads to a config file of rollmill, NAT's defaults included. The workflow stays in NAT's
file, for `nat serve`. ${VAR} is copied and not expanded; keys are never copied.

No field is dropped silently. A note, on stderr and as a comment, says that it is
"changed" (it means something else in rollmill), "dropped" (it has no counterpart there),
"ignored" by NAT, "unknown" to NAT, or that it "stays" in NAT's file.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import textwrap
from typing import Any, NamedTuple, NoReturn

from ._need import need

# NAME, ... | SHAPE of the value | KEY of rollmill that takes it = NAT's default, which is written if the file lacks the field | KIND: NOTE.
# What follows from several fields, such as a URL from a host and a port, is made in Converter.
TABLE = """
[]
finetuning, trajectory_builders, trainer_adapters, trainers, eval | mapping
llms, workflow, general, functions, function_groups, middleware, embedders, memory, object_stores, optimizer, retrievers, ttc_strategies, authentication | mapping
base | text | | changed: NAT merges this file below; the converter reads one file, so merge them first
[finetuning]
enabled | switch
trainer, trajectory_builder, trainer_adapter, target_model | text
reward_function | fields
target_functions | texts | rollout.target-function = <workflow>
curriculum_learning | mapping
num_epochs | whole | train.epochs = 1
output_dir | text | root = ./.tmp/nat/finetuning/ | changed: holds the datasets of every epoch too, and NAT's history files when `rollmill report` has run
run_configuration | any | | ignored: the options of the command line replace it
[reward_function]
name | text
[curriculum_learning]
enabled | switch | curate.curriculum | changed: NAT writes the state to curriculum_state.json and never reads it back, so a restarted run begins at the
    initial share; here an epoch continues the previous one
initial_percentile | number | curate.curriculum-initial = 0.3
increment_percentile | number | curate.curriculum-increment = 0.2
expansion_interval | whole | curate.curriculum-interval = 5 | changed: NAT expands for the first time one epoch early (epoch 4 with an interval of 5; with 1
    it never uses the initial share); curate.compat: nat repeats that
min_reward_diff | number | curate.min-reward-diff = 0.1
sort_ascending | switch | curate.curriculum-ascending
random_subsample | number | curate.random-subsample | changed: NAT keeps a share of the groups, drawn without a seed; here it is a share of each group's
    trajectories, as NAT documents it, drawn by curate.seed
[component]
_type | text
reward | any | | ignored: NAT replaces it by finetuning.reward_function
[trajectory_builders.openpipe_art_traj_builder]
num_generations | whole | rollout.generations = 2
[trajectory_builders.dpo_traj_builder]
ttc_step_name | text | | changed: rollout keeps the candidates of every TTC_END step, whatever its name
exhaustive_pairs | switch
min_score_diff | number | group.pair-margin = 0.0
max_pairs_per_turn | whole | group.pair-limit
reward_from_score_diff | switch | | dropped: NAT uses this reward only in its logs; a pair of rollmill holds both scores and their difference
require_multiple_candidates | switch | | dropped: a turn with one candidate makes no pair, in NAT as here
custom_step_name | text | | ignored: NAT's own example has this field, but NAT reads ttc_step_name
[trainer_adapters.openpipe_art_trainer_adapter]
backend, training | mapping
[backend]
ip, api_key | text
port | whole
name | text | submit.name = trainer_run
project | text | submit.project = trainer_project
base_model | text | submit.base-model = Qwen/Qwen2.5-7B-Instruct
delete_old_checkpoints | switch | submit.delete-old-checkpoints | changed: NAT calls a route that ART 0.4 servers do not have, and goes on when that fails;
    here the newest and the best checkpoint stay
init_args | mapping | submit.init-args
engine_args | mapping | submit.engine-args
server_config | fields
[server_config]
log_file | text | | dropped: start the ART server with the log that you want
server_args | mapping | submit.server-args
engine_args | mapping | | dropped: put them into backend.engine_args, which rollmill sends with the model
[training]
learning_rate | number | submit.learning-rate = 5e-05 | ignored: NAT reads it with getattr from a mapping, which never finds it, and trains with 5e-05; to
    repeat a run of NAT, write 5e-05
beta | number | submit.beta | ignored: NAT reads it with getattr from a mapping, which never finds it, and sends 0; ART 0.5.12 and later has kl-penalty-coef in
    its place
[trainer_adapters.nemo_customizer_trainer_adapter]
entity_host | text | submit.entity-url
datastore_host | text | submit.datastore-url
hf_token | text | | changed: a token is not copied: put that of the Data Store into NEMO_DATASTORE_TOKEN
namespace | text | submit.namespace
dataset_name | text | submit.dataset-name = nat-dpo | changed: the digest of the content follows the name, so that a job never trains on files of an earlier
    run
dataset_output_dir | text | | dropped: the curated dataset stays in the run's folder; rollmill submit --backend file --kinds customizer-dpo writes the JSON
    lines
create_namespace_if_missing | switch | | changed: rollmill always creates a missing namespace
customization_config | text | submit.customization-config
hyperparameters, deployment_config | mapping
use_full_message_history, deploy_on_completion | switch
poll_interval_seconds | number
deployment_timeout_seconds | number | | dropped: rollmill waits for a deployment without a limit of its own; submit.timeout limits the whole wait
max_consecutive_status_failures | whole | | dropped: rollmill asks again until submit.stall-timeout
[hyperparameters]
training_type | text | submit.training-type = dpo
finetuning_type | text | submit.finetuning-type = all_weights
epochs, batch_size | whole
learning_rate | number
dpo | mapping
[dpo]
ref_policy_kl_penalty, preference_loss_weight, sft_loss_weight | number
preference_average_log_probs | switch
[deployment_config]
image_name, image_tag, deployment_name | text
gpu | whole
description | text | | dropped: rollmill writes its own description
[trainers.openpipe_art_trainer]
[trainers.nemo_customizer_trainer]
num_runs | whole | rollout.generations = 1
continue_on_collection_error | switch | | changed: a failed trajectory never ends the collection here; rollout.max-failure-rate says how many are too many
deduplicate_pairs | switch
max_pairs | whole | | dropped: NAT draws this number of pairs without a seed; use group.pair-limit for each turn, or curate.sample-groups for a seeded share
wait_for_completion | switch | submit.wait = true | changed: rollmill train always waits; this is for rollmill submit
[eval]
general, evaluators | mapping
[general]
max_concurrency | whole | rollout.concurrency = 8 | changed: NAT runs this many at once in each of the num_generations evaluations, which run together; here
    it is the number in all
workflow_alias | text | | dropped: a name for NAT's user interface
output_dir | text | | dropped: datasets are under root
output | any | | dropped: datasets are under root; rollmill export writes other forms
dataset | mapping
profiler | any | | dropped: rollmill report and rollmill show give tokens, times and costs
validate_llm_endpoints | switch | | dropped: run `rollmill check` before a run
per_input_user_id | switch | | changed: each trajectory has a session of its own; no other way is offered
[dataset]
_type | text
file_path | text | rollout.examples = .tmp/nat/examples/default/default.json
id_key | text | rollout.id-key
structure, filter | fields
s3 | any | | dropped: write rollout.examples as s3://BUCKET/KEY; the credentials come from the environment
remote_file_path | text | | dropped: write rollout.examples as that URI: s3://BUCKET/KEY
function | text | | dropped: Python code of NAT's custom dataset; write its output to a file and name it in rollout.examples
kwargs | any | | dropped: arguments of Python code of NAT's custom dataset
[structure]
disable | switch | rollout.unstructured
question_key | text | rollout.question-key
answer_key | text | rollout.answer-key
generated_answer_key | text | rollout.generated-answer-key
trajectory_key | text | | dropped: rollout makes trajectories; rollmill import --from nat reads stored ones
expected_trajectory_key | text | | dropped: the column stays in the example's row, where a reward reads it
[filter]
allowlist, denylist | mapping
[allowlist]
field | mapping
[denylist]
field | mapping
"""
SHAPES = {  # how an error names them, and its hint
    "text": ("text", "put a text that looks like a number, a date or a switch in quotes"),
    "whole": ("a whole number", "write digits, without a unit"),
    "number": ("a number", "write digits, as in 0.5 or 1e-5"),
    "switch": ("true or false", "write true or false"),
    "texts": ("a list of texts", "write [a, b]"),
    "mapping": ("a mapping", "write its fields on indented lines below it, as NAME: VALUE"),
}
SHAPES["fields"] = SHAPES["mapping"]  # that are converted with the mapping
SECTIONS = ["", "rollout", "score", "group", "curate", "submit", "train", "validation"]


class Refused(Exception):
    """A file that is no configuration of NAT; the message names the line, and has a hint."""

    def __init__(self, file: str, line: int, what: str, hint: str) -> None:
        super().__init__(f"{file}:{line}: {what}\nhint: {hint}")


class Note(NamedTuple):
    path: str  # such as finetuning.num_epochs
    line: int  # in NAT's file; 0 when the file does not have the field
    kind: str
    text: str
    to: str  # the key whose comment it is, such as train.epochs; "" for the list at the top

    def __str__(self) -> str:
        return f"{self.path}: {self.kind}: {self.text}"


class Mapping(dict[str, Any]):
    """A mapping of the file, and the line of each key."""

    def __init__(self, path: str = "", line: int = 0) -> None:
        self.path, self.line, self.lines = path, line, dict[str, int]()

    def on(self, name: str, default: bool = False) -> bool:
        """Whether a switch is on. A reference counts as on."""
        return is_true(self[name]) or is_reference(self[name]) if name in self else default


class Field(NamedTuple):
    shape: str
    to: str = ""
    default: str = ""
    kind: str = ""
    note: str = ""


def fields_of(table: str) -> dict[str, dict[str, Field]]:
    out = dict[str, dict[str, Field]]()
    for line in table.replace("\n    ", " ").strip().splitlines():
        if line.startswith("["):
            section = out[line[1:-1]] = {}
            continue
        names, shape, key, note = [*re.split(r" *\| *", line, maxsplit=3), "", ""][:4]
        to, _, default = key.partition(" = ")
        kind, _, text = note.partition(": ")
        section.update({name: Field(shape, to, default, kind, text) for name in names.split(", ")})
    return out


FIELDS = fields_of(TABLE)


def join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def plain(text: str) -> str:
    """A text that fits into a comment."""
    return "".join(c if c.isprintable() else " " for c in text).strip()


def is_true(value: Any) -> bool:
    """Whether NAT reads a value as true."""
    return str(value).lower() in ("true", "yes", "on", "1", "t", "y")


def is_reference(value: Any) -> bool:
    """Whether a value, or a part of it, comes from the environment."""
    return isinstance(value, str) and "${" in value


def fits(value: Any, shape: str) -> bool:
    """Whether a value has a shape. A reference may become any scalar, and NAT takes numbers and switches in quotes."""
    if shape in ("any", "mapping", "fields"):
        return shape == "any" or isinstance(value, Mapping)
    if shape == "texts":
        return isinstance(value, list) and all(isinstance(v, str) for v in value)
    if shape == "text" or is_reference(value):
        return isinstance(value, str)
    if shape == "switch":
        return is_true(value) or str(value).lower() in ("false", "no", "off", "0", "f", "n")
    try:
        return not isinstance(value, bool) and (float(value).is_integer() or shape == "number")
    except (TypeError, ValueError):
        return False


def typed(value: Any, shape: str) -> Any:
    """A value that fits, as rollmill reads it."""
    if shape == "texts":
        return value if isinstance(value, list) else [value]
    if is_reference(value) or shape not in ("switch", "whole", "number"):
        return value
    return is_true(value) if shape == "switch" else int(float(value)) if shape == "whole" else float(value)


def type_of(component: Mapping) -> str:
    kind = component.get("_type", component.get("type"))
    return kind if isinstance(kind, str) else ""


def reward_name(evaluator: str) -> str:
    name = re.sub("[^A-Za-z0-9_-]+", "_", evaluator)
    return name if re.match("[A-Za-z_]", name) else "_" + name


def program(evaluator: str) -> str:
    """The reward that asks NAT's server for an evaluator's score, with the program that the guide on coming from NAT shows."""
    return f"{reward_name(evaluator)}=command:python3 nat_reward.py {shlex.quote(plain(evaluator))}"


class Converter:
    """One conversion: the keys of the result, such as train.epochs, and the notes."""

    def __init__(self, file: str) -> None:
        self.file, self.notes, self.out = file, list[Note](), dict[str, Any]()

    def note(self, block: Mapping, name: str, kind: str, text: str, to: str = "") -> None:
        self.notes.append(Note(plain(join(block.path, name)), block.lines.get(name, 0), kind, plain(text), to))

    def check(self, block: Mapping, name: str, shape: str) -> None:
        value, (wanted, hint) = block[name], SHAPES.get(shape, ("", ""))
        if not fits(value, shape):
            found = "a mapping" if isinstance(value, Mapping) else "a list" if isinstance(value, list) else f'"{value}"'
            raise Refused(self.file, block.lines[name], f"{plain(join(block.path, name))} must be {wanted}, not {found}", hint)

    def reference(self, block: Mapping, name: str, to: str) -> None:
        """Note a value that NAT and rollmill expand differently."""
        value = str(block[name])
        if value.startswith("file://"):
            self.note(block, name, "changed", "NAT replaces this by the content of the file; rollmill does not", to)
        elif "$${" in value:
            self.note(block, name, "changed", "rollmill reads $${ as a literal ${", to)
        elif is_reference(block[name]) and ":-" not in value:
            self.note(block, name, "changed", "NAT takes an empty text for a variable that is not set; for rollmill it is an error", to)

    def read(self, parent: Mapping, name: str, known: dict[str, Field] | None = None, rest: dict[str, Any] | None = None) -> Mapping:
        """Check the fields of a mapping, which may be missing, and convert those that have a key of their own. rest gets those that are not known."""
        if parent.get(name) is not None:
            self.check(parent, name, "mapping")
        known, given = known or FIELDS[name], parent.get(name) or Mapping()
        out = Mapping(join(parent.path, name), given.line)
        for key, value in given.items():
            key, line = "_type" if key == "type" and "_type" in known else key, given.lines[key]
            out.lines[key] = line
            if key in known and value is not None:
                out[key] = value
                self.take(out, key, known[key])
            elif key not in known and rest is not None:
                rest[key] = value
            elif key not in known:
                self.note(out, key, "unknown", "not a field that NAT reads; it ignores such fields silently, or refuses them")
        self.out |= {f.to: typed(f.default, f.shape) for key, f in known.items() if f.default and key not in out}
        return out

    def take(self, block: Mapping, name: str, field: Field) -> None:
        """Check and convert one field that the file has."""
        self.check(block, name, field.shape)
        if field.to:
            self.out[field.to] = typed(block[name], field.shape)
            if not isinstance(block[name], (dict, list)):
                self.reference(block, name, field.to)
        if field.kind:
            self.note(block, name, field.kind, field.note, field.to)
        if field.shape == "fields":
            block[name] = self.read(block, name)

    def convert(self, root: Mapping) -> None:
        whole = Mapping()
        whole[""] = root
        b = self.read(whole, "")
        if not b:
            what = "it has none of the sections of a NAT config, such as finetuning, eval, llms and workflow"
            raise Refused(self.file, root.line, what, "name the file that `nat finetune --config_file` reads")
        stays = [name for name in FIELDS[""] if name in b and name not in ("base", "finetuning", "trajectory_builders", "trainer_adapters", "trainers", "eval")]
        if stays:
            b.lines[", ".join(stays)] = b.lines[stays[0]]
            self.note(b, ", ".join(stays), "stays", "part of the workflow, which `nat serve` reads from NAT's file")
        self.out["rollout.agent"] = "nat: ${NAT_SERVER:-http://127.0.0.1:8080}"
        text = f"""start its server with `nat serve --config_file {self.file} --port 8080`, on another port than the model's; the model's configuration in
            llms must set logprobs: true and, if its engine is not one that ART started, model_kwargs: {{extra_body: {{return_tokens_as_token_ids: true}}}}"""
        self.note(b, "workflow", "changed", " ".join(text.split()), "rollout.agent")
        if "finetuning" in b:
            return self.finetuning(b)
        self.note(b, "finetuning", "changed", "the file has no such section: it describes an evaluation, for rollmill eval")
        for section in ("trajectory_builders", "trainer_adapters", "trainers"):
            if section in b:
                self.note(b, section, "ignored", "without a section finetuning, nothing names its entries")
        self.eval(b, "")

    def finetuning(self, b: Mapping) -> None:
        f = self.read(b, "finetuning")
        if not f.on("enabled"):
            self.note(f, "enabled", "changed", "NAT refuses to train with this file; rollmill has no such switch")
        self.target_model(b, f)
        reward = f.get("reward_function", {}).get("name", "")
        pairs = self.builder(b, f) == "dpo_traj_builder"
        if pairs:
            if reward:
                self.note(f, "reward_function", "ignored", "the builder of pairs compares the scores of candidates")
            # a reward that says nothing, and rules that keep such groups
            self.out |= {"score.reward": ["finished=expr:1"], "curate.min-valid": 1, "curate.keep-flat": True}
            text = """the workflow scores the candidates of a turn itself, and group pairs them by those scores; the reward of the whole trajectory has no
                effect, so all groups are kept"""
            self.note(b, "trajectory_builders", "changed", " ".join(text.split()), "score.reward")
        else:
            if not reward:
                self.note(f, "reward_function", "changed", "missing; NAT's builder fails without it", "score.reward")
            self.out["validation.generations"] = 1  # NAT validates with one run of each example
        text = "functions of NAT's server; with another agent, remove this setting, or name the functions in the URLs that the agent calls"
        self.note(f, "target_functions", "changed", text, "rollout.target-function")
        self.eval(b, reward)
        if "curriculum_learning" in f:
            before = self.notes.copy(), self.out.copy()
            if not self.read(f, "curriculum_learning").on("enabled") or pairs:
                self.notes, self.out = before
                self.note(f, "curriculum_learning", "ignored", "NAT's trainer for pairs has no curriculum" if pairs else "it is not enabled")
        self.trainer(b, f, self.adapter(b, f))

    def target_model(self, b: Mapping, f: Mapping) -> None:
        """Set the model that trains. NAT's documents give a key of llms, while steps are compared by the name of the model."""
        name, to, text = f.get("target_model"), "rollout.target-model", "compared with the model as NAT's steps name it (model_name)"
        if name is None:
            return
        models = Mapping("llms")
        for key, llm in b.get("llms", {}).items():
            named = [llm[k] for k in ("model_name", "model", "azure_deployment") if isinstance(llm, Mapping) and llm.get(k) is not None]
            models[key], models.lines[key] = named[0] if named else None, b["llms"].lines[key]
        self.out[to] = name
        self.reference(f, "target_model", to)
        if name in models and name not in models.values() and models[name] is None:
            text += "; a key of llms whose model is not named there: write its name"
        elif name in models and name not in models.values():
            self.out[to] = models[name]
            self.reference(models, name, to)
            text += ", so the key of llms became the name of its model"
        elif models and name not in models.values() and not is_reference(name):
            text += "; it is no key of llms and no model there: llms has "
            text += ", ".join(key if model is None else f"{key} ({model})" for key, model in models.items())
        self.note(f, "target_model", "changed", text, to)

    def component(self, b: Mapping, f: Mapping, section: str, role: str) -> tuple[Mapping, str, bool]:
        """The component of a section that finetuning names, its type, and whether it is the user's own; an empty one if there is none."""
        entries, chosen = b.get(section, Mapping()), f.get(role)
        entries.path = section
        for name in entries:
            if name != chosen:
                self.note(entries, name, "ignored", "finetuning does not name it")
        if chosen is None or not entries:
            text = "missing; NAT requires it" if chosen is None else f"there is no section {section}, so NAT fails; this part is not converted"
            self.note(f, role, "changed", text)
            return Mapping(), "", False
        if chosen not in entries:
            what = f'finetuning.{role}: there is no "{plain(chosen)}" in {section}'
            raise Refused(self.file, f.lines[role], what, f"{section} has {plain(', '.join(entries))}")
        self.check(entries, chosen, "mapping")
        kind, rest = type_of(entries[chosen]), dict[str, Any]()
        if join(section, kind) in FIELDS:
            return self.read(entries, chosen, FIELDS["component"] | FIELDS[join(section, kind)]), kind, False
        out = self.read(entries, chosen, {"_type": Field("any"), "num_generations": Field("whole", "rollout.generations")}, rest)
        for name in rest:
            self.note(out, name, "dropped", "a field of a component of your own")
        return out, kind, True

    def builder(self, b: Mapping, f: Mapping) -> str:
        """Convert the trajectory builder, and return its type."""
        t, kind, own = self.component(b, f, "trajectory_builders", "trajectory_builder")
        if own:
            text = "a builder of your own: rollout, score and group do its work; write what it does besides as an agent or a reward"
            self.note(t, "_type", "changed", text, "rollout.agent")
        elif kind == "openpipe_art_traj_builder" and str(t.get("num_generations")) == "1":
            text = """with 1, NAT folds all examples into one group, so that answers to different prompts are compared; here a group is one example, and a
                group of one has no advantage: set at least 2"""
            self.note(t, "num_generations", "changed", " ".join(text.split()), "rollout.generations")
        elif kind == "dpo_traj_builder":
            self.out |= {"group.pairs": "exhaustive" if t.on("exhaustive_pairs", True) else "best-worst", "group.pairs-from": "candidates"}
            if self.out["group.pair-margin"] == 0:
                text = "with 0, NAT pairs equal scores too; here they are no preference (group.pair-ties pairs them)"
                self.note(t, "min_score_diff", "changed", text, "group.pair-margin")
        return kind

    def eval(self, b: Mapping, reward: str) -> None:
        """Convert where the examples are and how they are scored. reward is the evaluator that gives the reward; "" for all of them."""
        e = self.read(b, "eval")
        general = self.read(e, "general")
        d = self.read(general, "dataset")
        if "dataset" in general:
            self.dataset(d)
        else:
            self.note(general, "dataset", "changed", "missing; name the file that `nat finetune --dataset` named", "rollout.examples")
        to, entries, programs = "score.reward", e.get("evaluators", Mapping()), dict[str, str]()
        entries.path = "eval.evaluators"
        if to in self.out:
            if "evaluators" in e:
                text = "the pairs come from the scores of the candidates; NAT runs the evaluators and trains on none of them"
                self.note(e, "evaluators", "dropped", text)
            return
        for name in entries:
            self.check(entries, name, "mapping")
            if reward and name != reward:
                self.note(entries, name, "dropped", "not the reward: add it with the weight 0 to record it, as NAME*0=KIND:ARGUMENTS", to)
            elif reward_name(name) in programs:
                self.note(entries, name, "dropped", f"another reward has the name {reward_name(name)}", to)
            else:
                programs[reward_name(name)] = program(name)
                text = f"""NAT runs this evaluator (_type {type_of(entries[name])}) in its own process, and a failure counts as reward 0; here a failure is
                    no reward. nat_reward.py, in `rollmill help coming-from-nat`, asks NAT's server for the score; or write another kind of reward"""
                self.note(entries, name, "changed", " ".join(text.split()), to)
        self.out[to] = list(programs.values()) or [program(reward or "reward")]
        if not programs and reward:
            text = "no evaluator of this name is in eval.evaluators; NAT then collects no trajectories"
            self.note(Mapping("finetuning.reward_function"), "name", "changed", text, to)
        elif not programs:
            self.note(e, "evaluators", "changed", "none; write a reward", to)

    def dataset(self, d: Mapping) -> None:
        kind = d.get("_type", "")
        known = kind in ("json", "jsonl", "csv", "parquet")
        if known and not d.get("file_path", "").endswith("." + kind):
            self.out["rollout.examples-format"] = kind
        elif not known and not is_reference(kind):
            text = f'rollmill reads no "{kind}" files: convert the file to json, jsonl, csv or parquet'
            self.note(d, "_type", "dropped", text, "rollout.examples")
        if not d.get("structure", Mapping()).on("disable"):
            self.out["rollout.require-question"] = True
        for name, to in (("allowlist", "rollout.allow"), ("denylist", "rollout.deny")):
            lists, pairs = self.read(d.get("filter", Mapping()), name), list[str]()
            for column, values in lists.get("field", {}).items():
                if not isinstance(values, list) or not all(isinstance(v, (str, int, float)) for v in values):
                    what = f"{lists.path}.field.{plain(column)} must be a list of values"
                    raise Refused(self.file, lists["field"].lines[column], what, SHAPES["texts"][1])
                pairs += [f"{column}={str(v).lower() if isinstance(v, bool) else v}" for v in values]
            if pairs:
                self.out[to] = pairs

    def adapter(self, b: Mapping, f: Mapping) -> str:
        """Convert the trainer adapter, and return its type."""
        a, kind, own = self.component(b, f, "trainer_adapters", "trainer_adapter")
        if own:
            self.out |= {"submit.backend": "command", "submit.trainer": "python3 trainer.py"}
            text = """an adapter of your own: write it as a program that reads the dataset and answers with lines of JSON (rollmill help backend command),
                or choose another backend"""
            self.notes.append(Note(plain(a.path), a.lines.get("_type", 0), "changed", " ".join(text.split()), "submit.trainer"))
        elif kind == "openpipe_art_trainer_adapter":
            self.art(a)
        elif kind == "nemo_customizer_trainer_adapter":
            self.customizer(a)
        return kind

    def art(self, a: Mapping) -> None:
        to, s, args = "submit.url", self.read(a, "backend"), dict[str, Any]()
        self.out |= {"group.compat": "art", "submit.backend": "art"}
        for name in ("ip", "port"):
            if name in s:
                self.reference(s, name, to)
            else:
                self.note(s, name, "changed", "missing; NAT requires it", to)
        ip = s.get("ip", "127.0.0.1")
        if ip == "0.0.0.0":
            ip = "127.0.0.1"
            self.note(s, "ip", "changed", "0.0.0.0 is an address to listen on, not one to call", to)
        self.out[to] = f"http://{f'[{ip}]' if ':' in ip and not is_reference(ip) else ip}:{typed(s.get('port', 7999), 'whole')}"
        text = "NAT's health check asks port 8000 of this host, whatever the port of the engine is; rollmill asks this server for its engine"
        self.note(s, "port", "changed", text, to)
        if s.get("api_key", "default") != "default":
            self.note(s, "api_key", "changed", "a key is not copied: put it into the environment variable ROLLMILL_API_KEY")
        self.read(a, "training", rest=args)
        args = {name: value for name, value in args.items() if value is not None}
        if args:
            self.out["submit.trainer-args"] = args

    def customizer(self, a: Mapping) -> None:
        self.out["submit.backend"] = "customizer"
        for name in ("entity_host", "datastore_host", "namespace", "customization_config"):
            if name not in a:
                self.note(a, name, "changed", "missing; NAT requires it", "submit.backend")
        if not a.on("use_full_message_history"):
            text = "off, so that NAT's prompt is the text of the last message alone; rollmill always sends the whole conversation"
            self.note(a, "use_full_message_history", "changed", text, "submit.backend")
        poll = a.get("poll_interval_seconds", 30)
        if is_reference(poll):
            self.note(a, "poll_interval_seconds", "changed", "the variable needs a unit here: 30s", "submit.poll-interval")
        self.out["submit.poll-interval"] = poll if is_reference(poll) else f"{float(poll):f}".rstrip("0").rstrip(".") + "s"
        h = self.read(a, "hyperparameters")
        dpo, kind = self.read(h, "dpo"), h.get("training_type", "dpo")
        numbers = {"epochs": 3, "batch_size": 4, "learning_rate": 5e-05}  # NAT sends all of them, with its own defaults
        job = {name: typed(h.get(name, value), FIELDS["hyperparameters"][name].shape) for name, value in numbers.items()}
        if kind == "dpo" or is_reference(kind):
            numbers = {"ref_policy_kl_penalty": 0.1, "preference_loss_weight": 1.0, "preference_average_log_probs": False, "sft_loss_weight": 0.0}
            job |= {"dpo." + name: typed(dpo.get(name, value), FIELDS["dpo"][name].shape) for name, value in numbers.items()}
        elif kind == "sft":
            text = "NAT sends pairs to such a job; rollmill sends the best conversations of each group"
            self.note(h, "training_type", "changed", text, "submit.training-type")
            if "dpo" in h:
                self.note(h, "dpo", "dropped", "hyperparameters of DPO, which a job of type sft does not have")
        self.out |= {"submit.hyperparameters": job, "submit.validation-share": 0.2}
        text = "NAT takes the last fifth of the pairs, in order, so that an example can be on both sides; here whole examples are drawn by submit.split-seed"
        self.note(a, "validation", "changed", text, "submit.validation-share")
        d = self.read(a, "deployment_config")
        if a.on("deploy_on_completion"):
            self.out["submit.deployment-image"] = d.get("image_name", "nvcr.io/nim/meta/llama-3.1-8b-instruct") + ":" + d.get("image_tag", "latest")
            self.out["submit.deployment-gpus"] = typed(d.get("gpu", 1), "whole")
            name = d.get("deployment_name", "")
            allowed = name if is_reference(name) else re.sub("[_. /]", "-", name).lower().strip("-")
            if allowed != name:
                self.note(d, "deployment_name", "changed", "a name in Kubernetes has lower-case letters, digits and -", "submit.deployment-name")
            if allowed:
                self.out["submit.deployment-name"] = allowed
        elif "image_name" in d:
            self.note(a, "deployment_config", "ignored", "deploy_on_completion is not set")

    def trainer(self, b: Mapping, f: Mapping, adapter: str) -> None:
        t, kind, own = self.component(b, f, "trainers", "trainer")
        if own:
            text = "a trainer of your own: `rollmill train` is the loop, and the five commands are its steps"
            self.note(t, "_type", "changed", text, "train.epochs")
        elif kind == "nemo_customizer_trainer":
            if t.on("deduplicate_pairs", True):
                self.out["group.pair-once"] = True
                self.note(t, "deduplicate_pairs", "changed", "within a group; NAT compares the pairs of all examples", "group.pair-once")
            if "num_epochs" in f:
                text = "NAT's trainer for Customizer makes num_runs collections and one job, whatever this says"
                self.note(f, "num_epochs", "ignored", text, "train.epochs")
            self.out["train.epochs"] = 1
        if adapter == "openpipe_art_trainer_adapter":
            self.out["submit.wait"] = True


def load(yaml: Any, file: str, data: bytes) -> Mapping:
    """The mapping that is the file. Merge keys are applied; a duplicate key is refused."""

    def mapping(loader: Any, node: Any) -> Mapping:
        seen = dict[str, int]()
        for key, _ in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise Refused(file, line, "a key must be a word", "write NAME: VALUE")
            if key.value in seen and not key.tag.endswith(":merge"):
                raise Refused(file, line, f'"{key.value}" is already set on line {seen[key.value]}', "remove one of them")
            seen[key.value] = line
        loader.flatten_mapping(node)
        out = Mapping(line=node.start_mark.line + 1)
        for key, value in node.value:
            out[key.value], out.lines[key.value] = loader.construct_object(value, deep=True), key.start_mark.line + 1
        return out

    reader: Any = type("Reader", (yaml.SafeLoader,), {})
    reader.add_constructor("tag:yaml.org,2002:map", mapping)
    try:
        root = yaml.load(data, Loader=reader)
    except yaml.YAMLError as error:
        begun = re.search("flow|quoted", getattr(error, "context", None) or "")  # a bracket or a quote begins there
        mark = getattr(error, "context_mark" if begun else "problem_mark", None)
        what = f"not YAML: {getattr(error, 'problem', None) or error}"
        raise Refused(file, mark.line + 1 if mark else 1, what, "look for a wrong indentation, a tab, or an unclosed quote or bracket") from None
    if root is not None and not isinstance(root, Mapping):
        raise Refused(file, 1, "not a mapping of sections", "write SECTION: at the start of a line, and below it indented lines")
    return root or Mapping(line=1)


def comment(*texts: str) -> str:
    wrapped = [textwrap.fill(t, 100, initial_indent="# ", subsequent_indent="# ", break_long_words=False, break_on_hyphens=False) for t in texts]
    return "".join(text + "\n" for text in dict.fromkeys(wrapped))


def render(yaml: Any, c: Converter) -> str:
    """The config file: the notes that belong to no key as the comment at the top, then each section."""
    writer: Any = type("Writer", (yaml.SafeDumper,), {"ignore_aliases": lambda *_: True})
    writer.add_representer(Mapping, yaml.SafeDumper.represent_dict)
    begin = f"Converted from {plain(c.file)}, a configuration of NeMo Agent Toolkit (NAT), by python -m rollmill.nat."
    text = comment(begin, *(f"- {note}" for note in c.notes if note.to not in c.out))
    for section in SECTIONS:
        body = ""
        for key, value in c.out.items():
            where, name = key.split(".", 1) if "." in key else ("", key)
            if where == section:
                body += comment(*(str(note) for note in c.notes if note.to == key))
                body += yaml.dump({name: value}, Dumper=writer, default_flow_style=False, sort_keys=False, allow_unicode=True, width=1 << 20)
        text += f"{section}:\n{textwrap.indent(body, '  ')}" if section and body else body
    return text


def convert(file: str, data: bytes) -> tuple[str, list[Note]]:
    """The config file for a NAT configuration, which notes call file, and the notes in the order of the fields."""
    yaml = need("yaml", "rollmill.nat reads YAML", "PyYAML")
    converter = Converter(file)
    converter.convert(load(yaml, file, data))
    return render(yaml, converter), converter.notes


def main() -> None:
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        fail("usage: python -m rollmill.nat CONFIG.yml > rollmill.yaml\nconverts the file that `nat finetune --config_file` reads")
    name = os.path.basename(sys.argv[1])
    try:
        with open(sys.argv[1], "rb") as file:
            text, notes = convert(name, file.read())
    except (OSError, ImportError, Refused) as error:
        fail(f"rollmill.nat: {error}")
    for note in notes:
        print(f"{name}{f':{note.line}' if note.line else ''}: {note}", file=sys.stderr)
    sys.stdout.buffer.write(text.encode())


def fail(text: str) -> NoReturn:
    print(text, file=sys.stderr)
    raise SystemExit(2)


if __name__ == "__main__":
    main()
