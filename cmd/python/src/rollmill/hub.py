"""Push curated batches to a dataset repository of the Hugging Face hub.

    rollmill submit --in CURATED --backend command --trainer-env HF_TOKEN \\
        --trainer 'python -m rollmill.hub --repo OWNER/NAME' [--form sequences]

Pushes the curated dataset's Parquet files, or the files that submit writes for --form, in
one commit a batch. The forms of a batch have one type of file, as `datasets` requires:

    README.md                     a card; of one that is there, only the list of configs grows
    data/<form>/<file>            the batch; it replaces the one before, which the history has
    .rollmill/<submission>.json   what was pushed; never removed

It needs the package huggingface_hub, which uploads large files and keeps the login. The
endpoint is HF_ENDPOINT. A batch is pushed once: its record is in its commit, and every
commit names its parent, so that of two attempts only one can be made. It trains nothing; a
trainer pins the commit that the receipt names.
"""

from __future__ import annotations

import argparse
import json
import os
import posixpath
import shutil
import tempfile
from collections.abc import Mapping
from typing import Any

from . import _manifest
from ._command import run
from ._errors import Error
from ._need import need
from ._places import Place
from ._trainers import Batch, trainer

ATTEMPTS = 8  # at one commit, when others commit at the same time


class Repository:
    def __init__(self, given: argparse.Namespace) -> None:
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
        self.given, self.id = given, given.repo
        self.hub = need("huggingface_hub", "pushing to a hub")
        self.api = self.hub.HfApi()
        self.at = {"repo_id": given.repo, "repo_type": "dataset"}

    def create(self) -> None:
        if not self.hub.get_token():
            raise PermissionError("no token for the hub: set HF_TOKEN, and pass it on with submit --trainer-env HF_TOKEN, or log in with hf auth login")
        self.api.create_repo(**self.at, private=not self.given.public, exist_ok=True)

    def head(self) -> str:
        return str(self.api.repo_info(**self.at, revision=self.given.branch).sha)

    def find(self, token: str, revision: str) -> dict[str, Any] | None:
        """The answer about a batch that was pushed; None if it was not."""
        for record in self.api.get_paths_info(**self.at, paths=[_record(token)], revision=revision, expand=True):
            commit = record.last_commit.oid
            with open(self.api.hf_hub_download(**self.at, filename=record.path, revision=commit), encoding="utf-8") as f:
                return self.answer(commit, json.load(f)["files"])
        return None

    def answer(self, commit: str, paths: list[str]) -> dict[str, Any]:
        files = [f"hf://datasets/{self.id}@{commit}/{path}" for path in paths]
        return {"state": "completed", "job": commit, "files": files, "message": f"commit {commit} of {self.id} has the batch"}

    def push(self, batch: Batch, paths: Mapping[str, str]) -> dict[str, Any]:
        """Commit local files, by their paths in the repository, unless the batch is there."""
        record = {"submission": batch.token, **{k: batch[k] for k in ("run", "epoch", "digest", "load") if k in batch}, "files": sorted(paths)}
        for attempt in range(1, ATTEMPTS + 1):
            head = self.head()
            if found := self.find(batch.token, head):
                return found
            there = set(self.api.list_repo_files(**self.at, revision=head))
            folders = {posixpath.dirname(path) + "/" for path in paths}
            old = [path for path in there - set(paths) if not self.given.keep and path.startswith(tuple(folders))]
            added: dict[str, str | bytes] = {**paths, _record(batch.token): json.dumps(record, indent=1).encode(), "README.md": self.card(there, head, folders)}
            try:
                commit = self.api.create_commit(
                    **self.at,
                    operations=[
                        *(self.hub.CommitOperationAdd(path, content) for path, content in added.items()),
                        *(self.hub.CommitOperationDelete(path) for path in sorted(old)),
                    ],
                    commit_message=f"rollmill: run {batch.get('run', '')}, epoch {batch.get('epoch', 0)}",
                    commit_description=f"submission {batch.token}",
                    revision=self.given.branch,
                    parent_commit=head,
                )
                return self.answer(commit.oid, sorted(paths))
            except Exception as error:  # the commit may have been made, and its answer lost
                if found := self.find(batch.token, self.head()):
                    return found
                others = getattr(getattr(error, "response", None), "status_code", 0) == 412  # the parent is no longer the head
                if not others or attempt == ATTEMPTS:
                    raise
        raise AssertionError

    def card(self, there: set[str], head: str, folders: set[str]) -> bytes:
        if "README.md" in there:
            with open(self.api.hf_hub_download(**self.at, filename="README.md", revision=head), encoding="utf-8") as f:
                card = self.hub.DatasetCard(f.read())
        else:
            card = self.hub.DatasetCard(f"---\ntags:\n- rollmill\n---\n\n# {self.id}\n\nAgent trajectories that were chosen for training. Each commit is one batch.\n")
        configs = card.data.get("configs") or []
        known = {config.get("config_name") for config in configs}
        new = sorted(folder for folder in folders if posixpath.basename(folder[:-1]) not in known)
        card.data["configs"] = [*configs, *({"config_name": posixpath.basename(f[:-1]), "data_files": f + "*"} for f in new)]
        return str(card).encode()


def _record(token: str) -> str:
    return f".rollmill/{token}.json"


def batch_files(batch: Batch, scratch: str, keep: bool) -> dict[str, str]:
    """The batch's files on the local disk, by their paths in the repository."""
    curated, forms = Place(batch.curated), [Place(str(form["uri"])) for form in (batch.get("forms") or {}).values()]
    files = [(form.parent(), posixpath.basename(form.path), posixpath.splitext(posixpath.basename(form.path))[0]) for form in forms]
    if not forms:
        files = [(curated, str(part["name"]), "trajectories") for part in _manifest.read(curated, None).parts()]
    if len(types := {posixpath.splitext(name)[1] for _, name, _ in files}) > 1:
        raise ValueError(f"a repository has files of one type, not {' and '.join(sorted(types))}: push other forms to another --repo")
    out: dict[str, str] = {}
    for place, name, form in files:
        local = os.path.join(place.path, name)
        if place.scheme != "file":
            local = os.path.join(scratch, f"{form}-{name}")
            with open(local, "wb") as copy, place.filesystem().open_input_stream(place.key(name)) as stored:
                shutil.copyfileobj(stored, copy)
        out[f"data/{form}/{batch.token[:12] + '-' if keep else ''}{name}"] = local
    return out


def check_keys(uri: str) -> None:
    try:
        run("audit", uri, only="keys", fail_on="warning", quiet=True)
    except Error as error:
        if error.code != 3:
            raise
        found = f"rows have what looks like a key or a password: see rollmill audit {uri} --only keys; to push them: --allow-secrets"
        raise ValueError(found) from None


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m rollmill.hub", description="The trainer of backend command that pushes batches to a Hugging Face hub.")
    parser.add_argument("--repo", required=True, metavar="OWNER/NAME", help="push to this dataset repository, created if missing")
    parser.add_argument("--branch", default="main", help="commit to this branch, which must exist; default main")
    parser.add_argument("--public", action="store_true", help="make a new repository public; otherwise it is private")
    parser.add_argument("--keep", action="store_true", help="keep earlier batches next to this one; otherwise they remain only in the history")
    parser.add_argument("--allow-secrets", action="store_true", help="push rows in which the audit check keys finds a key")
    given = parser.parse_args()
    repository = Repository(given)

    @trainer(clean=True)  # what is pushed again after an error finds the commit that was made
    def push(batch: Batch) -> dict[str, Any]:
        if not given.allow_secrets:
            check_keys(batch.curated)
        with tempfile.TemporaryDirectory() as scratch:
            return repository.push(batch, batch_files(batch, scratch, given.keep))

    @push.begin
    def begin(request: Batch) -> None:
        repository.create()

    @push.status
    def status(request: Batch) -> dict[str, Any]:
        repository.api.repo_info(**repository.at, revision=request["job"])
        return {"state": "completed"}

    @push.resolve
    def resolve(request: Batch) -> dict[str, Any]:
        return repository.find(request.token, repository.head()) or {"state": "failed", "clean": True, "message": f"{repository.id} does not have the batch"}

    push.serve()


if __name__ == "__main__":
    main()
