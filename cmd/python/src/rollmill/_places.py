"""Files at a URI: a local folder, or a prefix in an object store."""

from __future__ import annotations

import fnmatch
import os
import posixpath
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from ._need import need

_STORES = {"s3": "s3fs", "gs": "gcsfs", "azblob": "adlfs"}  # and the package of fsspec


class Place:
    """A folder, or a prefix of keys."""

    def __init__(self, uri: str) -> None:
        parts = urlsplit(uri)
        self.scheme = parts.scheme if "://" in uri else "file"
        self.query, self.host = parts.query, parts.netloc
        if self.scheme == "file":
            self.host, self.query = "", ""
            self.path = os.path.abspath(unquote(parts.path) if "://" in uri else uri)
            self.uri = self.path
        elif self.scheme in _STORES:
            self.path = parts.path.strip("/")
            self.uri = f"{self.scheme}://{self.host.rpartition('@')[2]}/{self.path}"
        else:
            raise ValueError(f"{uri!r}: a dataset's URI is a folder, or begins with {', '.join(f'{s}://' for s in _STORES)}")
        self._fs: Any = None

    def resolve(self, reference: str) -> Place:
        """The place that a manifest here refers to."""
        if not reference.startswith("../"):
            return Place(reference)
        return self._at(posixpath.normpath(posixpath.join("/" + self.path.lstrip("/"), reference)))

    def parent(self) -> Place:
        return self._at(posixpath.dirname("/" + self.path.lstrip("/")))

    def _at(self, path: str) -> Place:
        place = Place(path if self.scheme == "file" else f"{self.scheme}://{self.host}{path}" + (f"?{self.query}" if self.query else ""))
        place._fs = self._fs
        return place

    def same_store(self, other: Place) -> bool:
        return other.scheme == "file" or (self.scheme, self.host, self.query) == (other.scheme, other.host, other.query)

    def file_uri(self, name: str) -> str:
        """The URI of a file here."""
        return f"{self.uri}/{name}" + (f"?{self.query}" if self.query else "")

    def read(self, name: str) -> bytes:
        """The content of a file; FileNotFoundError if there is none."""
        if self.scheme == "file":
            with open(os.path.join(self.path, name), "rb") as f:
                return f.read()
        with self.filesystem().open_input_stream(self.key(name)) as f:
            return bytes(f.read())

    def write(self, name: str, data: bytes) -> None:
        """Write a file whole, in the place of one of this name."""
        if self.scheme == "file":
            os.makedirs(self.path, exist_ok=True)
            path = os.path.join(self.path, name)
            with open(f"{path}.part", "wb") as f:
                f.write(data)
                f.flush()
                os.fsync(f.fileno())
            os.replace(f.name, path)
            return
        with self.filesystem().open_output_stream(self.key(name)) as out:
            out.write(data)

    def size(self, name: str) -> int | None:
        """The bytes of a file; None if there is none."""
        if self.scheme == "file":
            path = os.path.join(self.path, name)
            return os.path.getsize(path) if os.path.isfile(path) else None
        size: int | None = self.filesystem().get_file_info(self.key(name)).size
        return size

    def matching(self, pattern: str) -> list[str]:
        """The names of the files here that match, sorted."""
        if self.scheme == "file":
            names = os.listdir(self.path) if os.path.isdir(self.path) else []
        else:
            selector = need("pyarrow.fs", "listing an object store", "pyarrow").FileSelector(self.key(""), allow_not_found=True)
            names = [info.base_name for info in self.filesystem().get_file_info(selector)]
        return sorted(fnmatch.filter(names, pattern))

    def key(self, name: str) -> str:
        """The path of a file in the file system."""
        return "/".join(p for p in (self.host.rpartition("@")[2], self.path, name) if p) if self.scheme != "file" else os.path.join(self.path, name)

    def filesystem(self) -> Any:
        """The pyarrow file system of the place."""
        if self._fs is None:
            fs = need("pyarrow.fs", f"reading {self.uri}", "pyarrow")
            self._fs = fs.LocalFileSystem() if self.scheme == "file" else self._store(fs)
        return self._fs

    def _store(self, fs: Any) -> Any:
        said = {k: v[-1] for k, v in parse_qs(self.query).items()}
        if self.scheme == "s3" and hasattr(fs, "S3FileSystem"):
            options: dict[str, Any] = {"region": said.get("region") or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")}
            endpoint = said.get("endpoint") or os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
            if endpoint:
                options["endpoint_override"] = endpoint.partition("://")[2] or endpoint
                options["scheme"] = endpoint.partition("://")[0] if "://" in endpoint else "https"
                options["region"] = options["region"] or "us-east-1"
            return fs.S3FileSystem(**{k: v for k, v in options.items() if v})
        if self.scheme == "gs" and hasattr(fs, "GcsFileSystem") and not os.environ.get("STORAGE_EMULATOR_HOST"):
            return fs.GcsFileSystem()
        package = _STORES[self.scheme]
        need("fsspec", f"reading {self.uri}", package)
        options = {}
        if self.scheme == "azblob":
            options["account_name"] = said.get("storage_account") or os.environ.get("AZURE_STORAGE_ACCOUNT")
        kind = getattr(need(package, f"reading {self.uri}"), {"s3fs": "S3FileSystem", "gcsfs": "GCSFileSystem", "adlfs": "AzureBlobFileSystem"}[package])
        return fs.PyFileSystem(fs.FSSpecHandler(kind(**options)))
