"""The manifest of a dataset, _dataset.json."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from ._errors import Error
from ._places import Place

NAME = "_dataset.json"


class Manifest(NamedTuple):
    whole: dict[str, Any]  # the JSON of the file
    digest: str  # by which other datasets refer to this one

    @property
    def content(self) -> dict[str, Any]:
        content: dict[str, Any] = self.whole["dataset"]
        return content

    def parts(self, table: str = "") -> list[dict[str, Any]]:
        """The parts that have the rows of a table."""
        compacted = self.whole.get("compacted") or {}
        parts: list[dict[str, Any]] | None
        if table:
            parts = (compacted.get("tables") or {}).get(table)
            if parts is None:
                parts = self.content["tables"][table].get("parts")
        else:
            parts = compacted.get("parts") or self.content.get("parts")
        return parts or []


def read(place: Place, accepted: tuple[str, ...] | None) -> Manifest:
    """Read and check the manifest at a place; accepted are the gates that may have refused it, None all."""
    try:
        data = place.read(NAME)
    except (FileNotFoundError, NotADirectoryError):
        raise Error(_missing(place)) from None
    where = f"{place.uri}/{NAME}"
    try:
        whole = json.loads(data)
        format, raw = str(whole["format"]), raw_value(data.decode(), "dataset")
        schema = str(whole["dataset"]["schema"])
    except (ValueError, KeyError, TypeError) as error:
        raise Error(f"{where} is not a manifest: {error}") from None
    if format.startswith("rollmill-pruned/"):
        raise Error(f"{place.uri} was pruned: its parts are gone (see its manifest for when and why)")
    if format not in ("rollmill-dataset/2", "rollmill-dataset/2.1") or schema.split(".")[0] != "2":
        raise Error(f"{where} has the format {format} and the schema {schema}, which this version of rollmill does not know; upgrade it: pip install -U rollmill")
    for gate in whole.get("gates") or []:
        if gate.get("refused") and accepted is not None and gate.get("name") not in accepted:
            raise Error(f"{place.uri} was refused by the gate {gate['name']} ({gate.get('value')}); to read it nevertheless: accept_gates=[{gate['name']!r}]", 3)
    import hashlib

    return Manifest(whole, hashlib.sha256(raw.encode()).hexdigest())


def _missing(place: Place) -> str:
    if place.uri.endswith(".parquet"):
        return f"{place.uri} has no dataset; Parquet files that no stage wrote become one: rollmill import --from rows --in '{place.uri}' --out DATASET"
    files = place.matching("*.parquet")
    if any(name.startswith("part-") for name in files):
        return f"{place.uri} is incomplete: it has no {NAME}; run the stage that writes it again, or rollmill seal"
    if files:
        return f"{place.uri} has no {NAME}; Parquet files that no stage wrote become a dataset: rollmill import --from rows --in '{place.uri}/*.parquet' --out DATASET"
    return f"{place.uri} has no dataset; a dataset is one stage's folder, such as epoch-0/rollout in the run's"


def raw_value(text: str, key: str) -> str:
    """The text of one value of a JSON object, exactly as it is there."""
    decoder, space = json.JSONDecoder(), " \t\r\n"

    def skip(at: int, also: str = "") -> int:
        while at < len(text) and text[at] in space + also:
            at += 1
        return at

    at = skip(0) + 1  # after the brace
    while at < len(text):
        name, at = decoder.raw_decode(text, skip(at, ","))
        begin = skip(at, ":")
        _, at = decoder.raw_decode(text, begin)
        if name == key:
            return text[begin:at]
    raise KeyError(key)
