"""Run the Hugging Face client and our own against our test server of its hub: both
must create the same repository.

    HF_ENDPOINT=URL HF_TOKEN=TOKEN python check.py FOLDER

FOLDER has the files that our client pushed to acme/ours.
"""

import os
import pathlib
import sys
import tempfile

os.environ["HF_HUB_DISABLE_XET"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
cache = tempfile.TemporaryDirectory()
os.environ["HF_HOME"] = cache.name

from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, snapshot_download
from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

folder = pathlib.Path(sys.argv[1])
api = HfApi()
assert api.whoami()["name"] == "tester"


def tree(repo):
    out = {}
    for e in api.list_repo_tree(repo, repo_type="dataset", recursive=True):
        if hasattr(e, "size"):
            out[e.path] = (e.size, e.blob_id, e.lfs.sha256 if e.lfs else None)
    return out


# The same files with their client: regular, LFS in one piece, LFS in parts.
theirs, ours = "acme/theirs", "acme/ours"
api.create_repo(theirs, repo_type="dataset")
api.create_repo(theirs, repo_type="dataset", exist_ok=True)
files = sorted(p for p in folder.rglob("*") if p.is_file())


def adds():
    return [CommitOperationAdd(p.relative_to(folder).as_posix(), p) for p in files]


first = api.create_commit(theirs, adds(), commit_message="a batch", repo_type="dataset")
assert tree(theirs) == tree(ours), (tree(theirs), tree(ours))
assert any(lfs for _, _, lfs in tree(ours).values()) and not all(lfs for _, _, lfs in tree(ours).values())

# Unchanged files are not committed again; files are deleted in the same commit.
head = api.dataset_info(theirs).sha
assert head == first.oid
gone = CommitOperationDelete("old/a.txt")
api.upload_file(path_or_fileobj=b"stale", path_in_repo="old/a.txt", repo_id=theirs, repo_type="dataset")
api.create_commit(theirs, [gone, *adds()], commit_message="again", repo_type="dataset")
assert tree(theirs) == tree(ours)

# A parent that is no longer the head is refused, as our client expects.
try:
    api.create_commit(theirs, [CommitOperationAdd("b.txt", b"b")], commit_message="late", repo_type="dataset", parent_commit=head)
    raise SystemExit("a stale parent was taken")
except HfHubHTTPError as e:
    assert e.response.status_code == 412, e
try:
    api.dataset_info("acme/nothing")
    raise SystemExit("a repository that is not there was found")
except RepositoryNotFoundError:
    pass

# New contents, in one piece and in parts.
for size in (1000, 250_000):
    data = os.urandom(size)
    api.upload_file(path_or_fileobj=data, path_in_repo=f"new/{size}.parquet", repo_id=theirs, repo_type="dataset")
    got = api.hf_hub_download(theirs, f"new/{size}.parquet", repo_type="dataset")
    assert pathlib.Path(got).read_bytes() == data

# Both repositories return the same bytes.
for repo in (theirs, ours):
    got = pathlib.Path(snapshot_download(repo, repo_type="dataset"))
    for p in files:
        assert (got / p.relative_to(folder)).read_bytes() == p.read_bytes(), p
print(f"huggingface_hub agrees over {len(files)} files")
