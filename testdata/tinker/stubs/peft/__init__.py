"""The one class of peft that the Tinker server uses: it writes adapter_config.json.
peft itself would bring torch."""

import json
import pathlib


class LoraConfig:
    def __init__(self, **fields):
        self.fields = fields

    def save_pretrained(self, folder):
        fields = {k: sorted(v) if isinstance(v, set) else v for k, v in self.fields.items()}
        (pathlib.Path(folder) / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", **fields}, indent=2, default=str))
