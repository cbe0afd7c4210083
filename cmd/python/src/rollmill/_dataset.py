"""Reading datasets, through the library that is installed."""

from __future__ import annotations

import copy
import functools
import importlib.util
import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from . import _manifest, _rows
from ._errors import Error
from ._manifest import Manifest
from ._need import need
from ._places import Place
from ._rows import Row, Rows

if TYPE_CHECKING:
    import datasets
    import pandas
    import polars
    import pyarrow

ID = "trajectory_id"
# The columns of a thin dataset that replace those of its base.
_REPLACED = {
    "scores": ("reward", "rewards", "shaped_rewards"),
    "groups": ("reward", "rewards", "shaped_rewards", "group_id", "advantage", "advantages", "losses"),
}
# The other columns that a thin dataset adds, and their names in the joined rows.
_ADDED = {"scores": {"failure": "reward_failure", "error": "reward_error", "signals": "signals"}, "groups": {"no_advantage": "no_advantage"}}
# Columns that the command leaves out of rows in which they are null.
_SPARSE = ("failure_class", "error")


class Dataset:
    """The rows of a dataset: trajectories, with the rewards and advantages of this dataset.

    A thin dataset (of score or group) is joined with its base. Nothing is read
    before a method asks for rows.
    """

    def __init__(self, place: Place, manifest: Manifest, parts: Sequence[dict[str, Any]], base: Dataset | None) -> None:
        self._place, self._manifest, self._parts, self._base = place, manifest, list(parts), base
        self.uri = place.uri
        self._address, self._moved = self.uri, None  # type: str, str | None  # as it was opened, for the command
        self._arrow_schema: Any = None
        self._where = ""
        self._counts: dict[str, int] = {}  # of rows, by filter

    def __repr__(self) -> str:
        return f"rollmill.open({self.uri!r})" + (f".filter({self._where!r})" if self._where else "")

    def _repr_html_(self) -> str:
        from . import _html

        shown = list(itertools.islice(self, _html.FEW))
        return _html.table(shown, f"{self!r}: {len(self)} rows" + (f", the first {len(shown)}" if len(self) > len(shown) else ""))

    def filter(self, expression: str) -> Dataset:
        """The rows for which an expression is true, in the language of --where:
        'reward == 0 && calls > 3'. The command evaluates it when rows are read."""
        kept = copy.copy(self)
        kept._where = f"({self._where}) && ({expression})" if self._where else expression
        return kept

    def __iter__(self) -> Iterator[Row]:
        """The rows one after the other, with the values that `rollmill show --format json` prints."""
        return self._each()

    @overload
    def __getitem__(self, key: int) -> Row: ...
    @overload
    def __getitem__(self, key: slice) -> Rows: ...
    def __getitem__(self, key: int | slice) -> Row | Rows:
        """A row, or the rows of a slice; the command reads these alone."""
        count = len(self)
        if not isinstance(key, slice) and not -count <= key < count:
            raise IndexError(f"row {key} of {count}")
        places = range(count)[key]
        if isinstance(places, int):
            return next(self._each(places, 1))
        if not places:
            return Rows()
        first, last = min(places), max(places)
        found = list(self._each(first, last + 1 - first))
        return Rows(found[i - first] for i in places)

    def _each(self, first: int = 0, count: int | None = None, columns: Sequence[str] | None = None) -> Iterator[Row]:
        names = columns or self._readable()
        sources = [self._source(name) for name in names or ()]
        skipped = first if self._where else 0
        rows = 1 << 40 if count is None else count + skipped
        words = ["--format", "json", "--first", str(first - skipped), "--rows", str(rows), "--columns", ",".join(sources) or "all"]
        found = _rows.show(self._address, *words, *(["--where", self._where] if self._where else []), base=self._moved)
        for row in itertools.islice(found, skipped, None):
            yield Row({name: row.get(source) for name, source in zip(names, sources)} if names else {**row, **{name: row.get(name) for name in _SPARSE}})

    def _readable(self) -> list[str] | None:
        """The columns of the joined rows that the command reads; None is all. It has no
        advantages for scores, and one column of each name."""
        if self._base is None:
            return None
        other = {own for own, joined in _ADDED[self.kind].items() if own != joined} | {"advantage"}.difference(self._own_columns())
        return [name for name in self.columns if name not in other]

    @property
    def manifest(self) -> dict[str, Any]:
        """What _dataset.json says of the rows: stage, params, counts, ..."""
        return self._manifest.content

    @property
    def kind(self) -> str:
        """trajectories, scores or groups."""
        return str(self.manifest.get("kind", "trajectories"))

    @property
    def base(self) -> Dataset | None:
        """The dataset whose rows a thin one is about."""
        return self._base

    def __len__(self) -> int:
        if self._where:
            if self._where not in self._counts:
                self._counts[self._where] = sum(1 for _ in self._each(columns=[ID]))
            return self._counts[self._where]
        return int(self.manifest["rows"])

    @functools.cached_property
    def _shown(self) -> dict[str, Any]:
        """What the command says of the dataset."""
        return next(_rows.show(self._address, "--json", "--rows", "0", base=self._moved))

    def table(self, name: str) -> pyarrow.Table:
        """A further table of the stage: _groups, _pairs, _decisions, _plan, _examples."""
        pa, parquet = need("pyarrow", "reading a table"), need("pyarrow.parquet", "reading a table", "pyarrow")
        tables = self.manifest.get("tables") or {}
        if self._manifest is None or name not in tables:
            raise KeyError(f"{self.uri} has no table {name}; it has {', '.join(sorted(tables)) or 'none'}")
        return pa.concat_tables([parquet.ParquetFile(self._input(part)).read() for part in self._manifest.parts(name)])

    def to_arrow(self, columns: Iterable[str] | None = None) -> pyarrow.Table:
        """All rows, or these columns of them, as an Arrow table."""
        pa = need("pyarrow", "to_arrow")
        return pa.concat_tables(self.iter_arrow(columns))

    def to_pandas(self, columns: Iterable[str] | None = None) -> pandas.DataFrame:
        """All rows, or these columns of them, as a pandas data frame."""
        need("pandas", "to_pandas")
        frame: pandas.DataFrame = self.to_arrow(columns).to_pandas()
        return frame

    def to_polars(self, columns: Iterable[str] | None = None) -> polars.DataFrame:
        """All rows, or these columns of them, as a polars data frame."""
        pl = need("polars", "to_polars")
        frame: polars.DataFrame = pl.from_arrow(self.to_arrow(columns))
        return frame

    def to_hf(self, columns: Iterable[str] | None = None) -> datasets.Dataset:
        """All rows, or these columns of them, as a Hugging Face dataset."""
        hf = need("datasets", "to_hf")
        return hf.Dataset(hf.table.InMemoryTable(self.to_arrow(columns)))

    def iter_groups(self, columns: Iterable[str] | None = None) -> Iterator[list[dict[str, Any]]]:
        """The rows of each group, as dicts: neighbours of the same example and epoch.
        Reads a row group at a time."""
        wanted = None if columns is None else list(columns)
        keys = [k for k in ("group_id", "example_id", "epoch") if k in self.columns]
        group: list[dict[str, Any]] = []
        last: object = None
        for table in self.iter_arrow(None if wanted is None else [*wanted, *(k for k in keys if k not in wanted)]):
            for row in table.to_pylist():
                key = row.get("group_id") or (row.get("example_id"), row.get("epoch"))
                if group and key != last:
                    yield group
                    group = []
                last = key
                group.append(row if wanted is None else {k: row[k] for k in wanted})
        if group:
            yield group

    @property
    def columns(self) -> list[str]:
        """The names of the columns of the joined rows."""
        own = self._own_columns()
        if self._base is None:
            return own
        have = self._base.columns
        names = [*_REPLACED[self.kind], *_ADDED[self.kind].values()]
        return [*have, *(name for name in names if name not in have and self._source(name) in own)]

    def _own_columns(self) -> list[str]:
        return list(self._schema().names if importlib.util.find_spec("pyarrow") else self._shown["columns"])

    def iter_arrow(self, columns: Iterable[str] | None = None) -> Iterator[pyarrow.Table]:
        """The rows in their order as Arrow tables, one for each row group of the base."""
        if isinstance(columns, str):
            raise TypeError(f"columns is a list of names: [{columns!r}]")
        have = self.columns
        names = have if columns is None else list(columns)
        unknown = [name for name in names if name not in have]
        if unknown:
            raise KeyError(f"{self.uri} has no column {', '.join(unknown)}; it has {', '.join(have)}")
        if self._where:
            yield from self._filtered(names)
        elif self._base is None:
            yield from self._read(names)
        else:
            yield from self._joined(names)

    def _filtered(self, names: list[str]) -> Iterator[pyarrow.Table]:
        pa, compute = need("pyarrow", "reading rows"), need("pyarrow.compute", "reading rows", "pyarrow")
        kept, all = pa.array([row[ID] for row in self._each(columns=[ID])], pa.string()), copy.copy(self)
        all._where = ""
        for table in all.iter_arrow(list(dict.fromkeys([*names, ID]))):
            yield table.filter(compute.is_in(table[ID], kept)).select(names)

    def _joined(self, names: list[str]) -> Iterator[pyarrow.Table]:
        pa = need("pyarrow", "joining with the base")
        assert self._base is not None
        own = self._schema().names
        thin = {name: self._source(name) for name in names if name in _REPLACED[self.kind] or name in _ADDED[self.kind].values()}
        of_base = [name for name in names if name not in thin]
        rest = _Rows(self._read([ID, *dict.fromkeys(s for s in thin.values() if s in own and s != ID)]))
        for wide in self._base._read(list(dict.fromkeys([ID, *of_base]))):
            rows = rest.take(wide.num_rows, pa)
            if rows.num_rows != wide.num_rows or not rows[ID].equals(wide[ID]):
                raise Error(f"{self.uri} is not about the rows of {self._base.uri}; make it again")
            yield pa.table({name: rows[thin[name]] if name in thin and thin[name] in own else wide[name] for name in names})
        if rest.take(1, pa).num_rows:
            raise Error(f"{self.uri} has more rows than its base {self._base.uri}; make it again")

    def _source(self, name: str) -> str:
        """The thin dataset's own name of a column of the joined rows."""
        return next((own for own, joined in _ADDED.get(self.kind, {}).items() if joined == name), name)

    def _schema(self) -> Any:
        """The columns of the rows."""
        if self._arrow_schema is None:
            parquet = need("pyarrow.parquet", f"reading {self.uri}", "pyarrow")
            if not self._parts:
                raise Error(f"{self.uri} has no parts, and so no columns")
            self._arrow_schema = parquet.read_schema(self._input(self._parts[0]))
        return self._arrow_schema

    def _read(self, names: list[str]) -> Iterator[Any]:
        """The tables of each row group, with these columns."""
        parquet = need("pyarrow.parquet", f"reading {self.uri}", "pyarrow")
        for part in self._parts:
            with parquet.ParquetFile(self._input(part), pre_buffer=True) as f:
                have = [name for name in names if name in f.schema_arrow.names]
                if not f.num_row_groups:  # it has columns all the same
                    yield f.schema_arrow.empty_table().select(have)
                for i in range(f.num_row_groups):
                    yield f.read_row_group(i, columns=have).select(have)

    def _input(self, part: dict[str, Any]) -> Any:
        """A part as an open file; its size is checked."""
        name = part["name"]
        size = self._place.size(name)
        if size is None or part.get("bytes") not in (None, size):
            what = "is gone" if size is None else f"has {size} bytes instead of {part['bytes']}"
            raise Error(f"{self.uri}: part {name} {what}; restore it, or make the dataset again")
        return self._place.filesystem().open_input_file(self._place.key(name))


class _Rows:
    """A stream of tables, of which any number of rows can be taken."""

    def __init__(self, tables: Iterator[Any]) -> None:
        self._tables = tables
        self._kept: list[Any] = []

    def take(self, n: int, pa: Any) -> Any:
        while not self._kept or sum(t.num_rows for t in self._kept) < n:
            more = next(self._tables, None)
            if more is None:
                break
            self._kept.append(more)
        if not self._kept:
            return pa.table({ID: pa.array([], pa.string())})
        all = pa.concat_tables(self._kept)
        self._kept = [all.slice(n)]
        return all.slice(0, n)


def open(uri: str | os.PathLike[str], *, base: str | None = None, accept_gates: Iterable[str] = ()) -> Dataset:
    """Open the dataset at a URI: a folder, s3://, gs:// or azblob://.

    `base` says where the base of a thin dataset is now, if it was moved;
    `accept_gates` names gates that may have refused the dataset.
    """
    text = os.fspath(uri)
    found = _open(text, base, tuple(accept_gates))
    found._address, found._moved = text, base
    return found


def _open(text: str, base: str | None, accept_gates: tuple[str, ...]) -> Dataset:
    place = Place(text)
    manifest = _manifest.read(place, accept_gates)
    return Dataset(place, manifest, manifest.parts(), _base(place, manifest, base))


def _base(place: Place, manifest: Manifest, given: str | None) -> Dataset | None:
    """The base of a thin dataset, which has to be as it was."""
    reference = manifest.content.get("base")
    if reference is None:
        return None
    uri = given or reference["uri"]
    at = Place(given) if given else place.resolve(uri)
    if not given and not place.same_store(at):
        raise Error(f"{place.uri}: its base is at {at.uri}, in another store; if you trust that place: base={at.uri!r}")
    try:
        wide = _manifest.read(at, None)  # its gates were accepted when this dataset was made
    except Error as error:
        raise Error(f"{place.uri}: its base: {error}; put it back, or say where it is: base=URI") from None
    if wide.digest != reference["digest"]:
        raise Error(f"{place.uri}: its base {at.uri} changed since it was made; make {place.uri} again")
    return Dataset(at, wide, wide.parts(), None)
