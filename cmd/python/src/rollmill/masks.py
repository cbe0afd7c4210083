"""Prove a dataset's training masks by the chat template of the policy's tokenizer.

    python -m rollmill.masks DATASET --tokenizer DIR [--sequences FILE] [--json]

Writes each answer that trains, and its prompt, by the template, and compares them with the recorded ids and the masks of
`export --to sequences`. The exit code is 0 if none of KINDS is found, and 3 otherwise. It needs transformers and pyarrow.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from ._command import run
from ._dataset import open as open_dataset
from ._errors import Error
from ._need import need
from .tinker._template import Template, clean

KINDS = {
    "uncovered": "sampled tokens that no mask covers",
    "stop": "the stop token is not among the sampled tokens: it stands in the next prompt, or nowhere, and is not learned",
    "rewritten": "in a later prompt the template writes the answer otherwise than it was sampled",
    "no_ids": "not known: the engine gave no ids of the answer",
    "no_prompt_ids": "not known: the engine gave no ids of the prompt",
    "prompt": "not known: the recorded prompt is not the template's",
    "template": "not known: the template fails",
    "unknown_stop": "not known: why the answer ended without a stop token",
}
COLUMNS = ["trajectory_id", "messages", "prompt_ids", "response_ids", "loss_mask"]
ENDED, CUT = ("stop", "tool_calls", "function_call", "end_turn", "tool_use"), ("length", "max_tokens")


def chat(m: dict[str, Any]) -> dict[str, Any]:
    """A message as engines give it to templates."""
    calls = [{"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}} for c in m["tool_calls"] or ()]
    made = {"content": json.loads(m["content_parts"]) if m["content_parts"] else m["content"], "reasoning_content": m["reasoning"], "tool_calls": calls}
    return clean({name: value for name, value in {**made, **{k: m[k] for k in ("role", "name", "tool_call_id")}}.items() if value})


def differ(a: list[int], b: list[int]) -> int:
    """The first place at which they differ; -1: they are the same."""
    return next((i for i, (x, y) in enumerate(itertools.zip_longest(a, b)) if x != y), -1)


class Conversation:
    """A trajectory, and the sequences that were made from it; numbers are indexes of messages."""

    def __init__(self, row: dict[str, Any], sequences: list[dict[str, Any]], tokenizer: Any) -> None:
        self.row, self.sequences, self.tokenizer, self.special = row, sequences, tokenizer, set(tokenizer.all_special_ids)
        self.special.update(at for at, token in tokenizer.added_tokens_decoder.items() if token.special)
        self.messages, self.calls = row["messages"] or [], row["calls"] or []
        self.above, self.turns = list[int](), list[int]()  # the nearest sampled message before each, -1: none; answers that train
        self.recorded, self.rendered = dict[int, Any](), dict[int, list[int]]()  # prompts as the engine saw them, None: unknown; by the template
        for i, m in enumerate(self.messages):
            above = at if (at := m["parent"]) < 0 or self.messages[at]["sampled"] else self.above[at]
            self.above.append(above)
            if m["sampled"]:
                parts = [*([] if above < 0 or m["prefix_break"] else [self.recorded[above], self.messages[above]["token_ids"]]), m["prompt_delta_ids"]]
                self.recorded[i] = None if None in parts else list(itertools.chain(*parts)) or None
                if 0 <= m["call"] < len(self.calls) and self.calls[m["call"]]["target"] and not (m["token_ids"] == m["logprobs"] == []):
                    self.turns.append(i)  # empty lists sampled nothing; null is unknown

    def found(self, kind: str, i: int, recorded: list[int], template: list[int]) -> dict[str, Any]:
        at = max(differ(recorded, template) - 2, 0)
        texts = {name: self.tokenizer.decode(ids[at : at + 14]) for name, ids in (("recorded", recorded), ("template", template))}
        return {"kind": kind, "trajectory_id": self.row["trajectory_id"], "message": i, **texts}

    def check(self) -> Iterator[dict[str, Any]]:
        for i in self.turns:
            if not (ids := self.messages[i]["token_ids"]):
                yield self.found("no_ids", i, [], [])
                continue
            if (masked := self.covered(i, ids)) != ids:
                yield self.found("uncovered", i, ids, masked)
            try:
                prompt, whole = self.render(i, True), self.render(i, False)
            except Exception as error:  # templates raise whatever they like
                yield {**self.found("template", i, ids, []), "template": f"{type(error).__name__}: {error}"}
                continue
            yield from self.prompt(i, prompt)
            self.rendered[i] = prompt
            yield from self.stop(i, ids, whole[max(differ(prompt, whole), 0) :])

    def render(self, i: int, prompt: bool) -> list[int]:
        path, tools = [i], self.calls[self.messages[i]["call"]]["tools"]
        while (parent := self.messages[path[-1]]["parent"]) >= 0:
            path.append(parent)
        given = [chat(self.messages[at]) for at in reversed(path[1:] if prompt else path)]
        return Template(self.tokenizer).prompt(given, json.loads(self.row["tool_sets"][tools]) if tools >= 0 else None, prompt, {})

    def covered(self, i: int, ids: list[int]) -> list[int]:
        places = ((s, len(self.recorded[i] or ()) - len(s["prompt_ids"])) for s in self.sequences if i in s["messages"])
        return next((list(itertools.compress(s["response_ids"][at : at + len(ids)], s["loss_mask"][at:])) for s, at in places if at >= 0), [])

    def prompt(self, i: int, prompt: list[int]) -> Iterator[dict[str, Any]]:
        """Compare the template's prompt with the answers before it, and with the recorded prompt."""
        if (above := self.above[i]) in self.rendered:
            before = self.rendered[above] + self.messages[above]["token_ids"]
            at = differ(before, prompt[: len(before)])
            while above in self.rendered and 0 <= at < len(self.rendered[above]):
                above = self.above[above]  # it is an answer before that one, or the input
            if at >= 0 and above in self.rendered:
                yield self.found("rewritten", above, before, prompt)
        if (recorded := self.recorded[i]) != prompt:
            yield self.found("prompt" if recorded else "no_prompt_ids", i, recorded or [], prompt)

    def stop(self, i: int, ids: list[int], answer: list[int]) -> Iterator[dict[str, Any]]:
        m, special = self.messages[i], self.special.intersection(answer)  # the template may end an answer with text
        if ids[-1] not in self.special and m["finish_reason"] not in CUT:
            known = special and m["finish_reason"] in ENDED and not json.loads(self.calls[m["call"]]["sampling"] or "{}").get("stop")
            yield self.found("stop" if known else "unknown_stop", i, ids[-4:], answer[-6:])


def prove(uri: str, tokenizer: Any, file: str | None, first: int) -> dict[str, Any]:
    parquet, dataset = need("pyarrow.parquet", "proving masks", "pyarrow"), open_dataset(uri)
    with tempfile.TemporaryDirectory() as scratch:
        path = file or os.path.join(scratch, "sequences.parquet")
        try:
            _ = file or run("export", in_=uri, to="sequences", out=path, quiet=True)
        except Error as error:
            if "would have no row" not in str(error):
                raise
        table: Any = parquet.read_table(path, columns=COLUMNS) if file or os.path.exists(path) else None  # None: no mask covers anything
    places, bad = defaultdict[str, list[int]](list), defaultdict[str, set[tuple[str, int]]](set)
    for at, name in enumerate(table["trajectory_id"].to_pylist() if table else ()):
        places[name].append(at)
    turns, rows, shown = 0, Counter[str](), list[dict[str, Any]]()
    for part in dataset.iter_arrow(["trajectory_id", "status", "messages", "calls", "tool_sets"]):
        for row in (part.slice(at, 1).to_pylist()[0] for at in range(part.num_rows)):
            of = Conversation(row, [s for at in places[row["trajectory_id"]] for s in table.slice(at, 1).to_pylist()], tokenizer)
            of.turns = of.turns if row["status"] in ("ok", "truncated") else []  # nothing trains on the others
            rows["checked" if of.turns else "nothing_trains"] += 1
            turns += len(of.turns)
            for f in of.check():
                known = bad[f["kind"]]
                shown += [f] if len(known) < first and (of.row["trajectory_id"], f["message"]) not in known else []
                known.add((of.row["trajectory_id"], f["message"]))
    counts, shares = {kind: len(bad[kind]) for kind in KINDS}, {kind: len(bad[kind]) / max(turns, 1) for kind in KINDS}
    return {"rows": rows, "turns": turns, "proven": turns - len(set().union(*bad.values())), "counts": counts, "shares": shares, "first": shown}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m rollmill.masks", description="Prove the training masks of a dataset by a tokenizer's chat template.")
    parser.add_argument("dataset", metavar="DATASET", help="folder or URI of a dataset of trajectories, scores, groups, or a curated one")
    parser.add_argument("--tokenizer", required=True, metavar="DIR", help="the policy's tokenizer, with its chat template")
    parser.add_argument("--sequences", metavar="FILE", help="the sequences.parquet that trains; default: what export makes of the dataset")
    parser.add_argument("--first", type=int, default=3, metavar="N", help="show the first N of each kind; default 3")
    parser.add_argument("--json", action="store_true", help="print the result as a JSON object")
    given = parser.parse_args()
    try:
        tokenizer = need("transformers", "proving masks").AutoTokenizer.from_pretrained(given.tokenizer, trust_remote_code=False, local_files_only=True)
        result = prove(given.dataset, tokenizer, given.sequences, given.first)
    except (Error, ImportError, OSError, ValueError) as error:
        parser.exit(getattr(error, "code", 2), f"rollmill.masks: {error}\n")
    lines = [f"{result['proven']} of {result['turns']} answers are proven; rows: {', '.join(f'{kind} {n}' for kind, n in result['rows'].items())}"]
    lines += [f"{kind}: {count} ({result['shares'][kind]:.1%}), {KINDS[kind]}" for kind, count in result["counts"].items() if count]
    seen = "{kind}: trajectory {trajectory_id}, message {message}\n  recorded {recorded!r}\n  template {template!r}"
    print(json.dumps(result) if given.json else "\n".join([*lines, *(seen.format(**f) for f in result["first"])]))
    raise SystemExit(0 if result["proven"] == result["turns"] else 3)


if __name__ == "__main__":
    main()
