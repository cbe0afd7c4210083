"""Configurations of NeMo Agent Toolkit and the config files that become of them, which lie in the folder nat; needs PyYAML."""

from __future__ import annotations

import importlib.util
import pathlib
import unittest
from unittest import mock

from rollmill import nat

from .programs import Served

PAIRS = pathlib.Path(__file__).parent / "nat"
COMPONENTS = "trajectory_builders: {b: {_type: openpipe_art_traj_builder}}\n"
LLMS = "llms: {training_llm: {_type: openai, model_name: org/model-1}, other: {_type: mine}}\n"


@unittest.skipUnless(importlib.util.find_spec("yaml"), "needs PyYAML")
class Converted(Served):
    def test_pairs(self) -> None:
        files = sorted(PAIRS.glob("*.yml"))
        self.assertEqual(len(files), 10)
        for file in files:
            text, notes = nat.convert(file.name, file.read_bytes())
            self.assertEqual(text, file.with_suffix(".rollmill.yaml").read_text(), file)
            flat = " ".join(text.replace("#", "").split())
            for note in notes:
                self.assertIn(" ".join(str(note).split()), flat)
                self.assertNotIn("\n", str(note))

    def test_keys_are_not_copied(self) -> None:
        for name in ("every-field-art.yml", "every-field-customizer.yml"):
            data = (PAIRS / name).read_bytes()
            self.assertIn(b"hush", data)
            text, notes = nat.convert(name, data)
            self.assertNotIn("hush", text + str(notes))

    def test_merged(self) -> None:
        given = "x: &x {max_concurrency: 3}\neval:\n  general:\n    <<: [*x, {max_concurrency: 4}]\n    dataset: &d {_type: csv, file_path: a.txt}\n"
        text, _ = nat.convert("nat.yml", given.encode())
        self.assertIn("  concurrency: 3\n", text)
        self.assertIn("  examples-format: csv\n", text)

    def test_odd_texts(self) -> None:
        text, _ = nat.convert("nat.yml", b'finetuning: {output_dir: "7"}\neval: {evaluators: {"\\n#": {}}}\n')
        self.assertIn("root: '7'\n", text)
        self.assertIn("- _=command:python3 nat_reward.py '#'\n", text)

    def test_target_model(self) -> None:
        """It may be a key of llms, as NAT's documents write it."""
        for name, model, note in (
            ("training_llm", "org/model-1", "so the key of llms became the name of its model"),
            ("org/model-1", "org/model-1", "compared with the model as NAT's steps name it (model_name)"),
            ("other", "other", "a key of llms whose model is not named there: write its name"),
            ("trainin_llm", "trainin_llm", "it is no key of llms and no model there: llms has training_llm (org/model-1), other"),
        ):
            text, notes = nat.convert("nat.yml", f"{LLMS}finetuning: {{target_model: {name}}}\n".encode())
            self.assertIn(f"  target-model: {model}\n", text)
            self.assertTrue([n for n in notes if n.path == "finetuning.target_model" and n.text.endswith(note)], notes)

    def test_refused(self) -> None:
        for data, want in {
            "": "nat.yml:1: it has none of the sections of a NAT config",
            "- a\n": "nat.yml:1: not a mapping of sections",
            "a: [\nb: c\n": "nat.yml:1: not YAML",
            "finetuning:\n  target_functions: [a\n": "nat.yml:2: not YAML",
            "rollout: {agent: chat}\n": "nat.yml:1: it has none of the sections of a NAT config",
            "a: b\n---\na: b\n": "but found another document",
            "finetuning: 5\n": 'nat.yml:1: finetuning must be a mapping, not "5"',
            "finetuning:\n  num_epochs: many\n": 'nat.yml:2: finetuning.num_epochs must be a whole number, not "many"',
            "finetuning:\n  num_epochs: 1.5\n": "nat.yml:2: finetuning.num_epochs must be a whole number",
            "finetuning:\n  enabled: maybe\n": 'nat.yml:2: finetuning.enabled must be true or false, not "maybe"',
            "finetuning:\n  output_dir: 7\n": 'nat.yml:2: finetuning.output_dir must be text, not "7"',
            "finetuning:\n  target_functions: f\n": 'nat.yml:2: finetuning.target_functions must be a list of texts, not "f"',
            "finetuning:\n  target_functions: [1]\n": "nat.yml:2: finetuning.target_functions must be a list of texts, not a list",
            "finetuning:\n  curriculum_learning: {enabled: true, initial_percentile: []}\n": "nat.yml:2: finetuning.curriculum_learning.initial_percentile must "
            "be a number, not a list",
            "finetuning:\n  enabled: true\n  enabled: false\n": 'nat.yml:3: "enabled" is already set on line 2',
            COMPONENTS + "finetuning:\n  trajectory_builder: c\n": 'nat.yml:3: finetuning.trajectory_builder: there is no "c" in trajectory_builders',
            "eval: {general: {dataset: {_type: json, filter: {allowlist: {field: {a: x}}}}}}\n": "must be a list of values",
            "eval: {evaluators: {a: 5}}\n": "nat.yml:1: eval.evaluators.a must be a mapping",
            "a: &a [1]\n<<: 5\n": "nat.yml:2: not YAML: expected a mapping or list of mappings for merging",
            "? [a]\n: b\n": "nat.yml:1: a key must be a word",
        }.items():
            with self.assertRaises(nat.Refused, msg=data) as refused:
                nat.convert("nat.yml", data.encode())
            self.assertIn(want, str(refused.exception))
            self.assertIn("\nhint: ", str(refused.exception))

    def test_program(self) -> None:
        given = COMPONENTS + "telemetry: {}\nfinetuning:\n  enabled: true\n  num_epochs: 3\n  num_epoch: 4\n  trajectory_builder: b\n"
        out, errors = self.start("-m", "rollmill.nat", str(self.write("nat.yml", given)), stdin=b"")
        self.assertIn(b"\ntrain:\n  epochs: 3\n", out)
        self.assertIn("nat.yml:6: finetuning.num_epoch: unknown: ", errors)
        self.assertIn("nat.yml:2: telemetry: unknown: ", errors)
        out, errors = self.start("-m", "rollmill.nat", str(self.folder / "none.yml"), stdin=b"", code=2)
        self.assertEqual(out, b"")
        self.assertIn("none.yml", errors)
        out, errors = self.start("-m", "rollmill.nat", str(self.write("list.yml", "- a\n")), stdin=b"", code=2)
        self.assertEqual(errors.splitlines()[0], "rollmill.nat: list.yml:1: not a mapping of sections")


class Missing(Served):
    def test_package(self) -> None:
        with mock.patch.dict("sys.modules", {"yaml": None}), self.assertRaisesRegex(ModuleNotFoundError, "pip install PyYAML"):
            nat.convert("nat.yml", b"")

    def test_usage(self) -> None:
        _, errors = self.start("-m", "rollmill.nat", stdin=b"", code=2)
        self.assertIn("usage: python -m rollmill.nat CONFIG.yml", errors)


if __name__ == "__main__":
    unittest.main()
