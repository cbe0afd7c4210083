"""Computes the rows digest of datasets from their Parquet files alone, following the
documentation of formats.RowsDigest, and compares it with the manifests'.

    digest.py FOLDER...   every dataset in the folders
"""
import json
import pathlib
import struct
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import xxhash


def u64(n):
    return struct.pack("<Q", n & (2**64 - 1))


def absent(value):
    return value is None or value == "" or value == []


def laid(value, typ):
    """The bytes of a value that is not null."""
    if pa.types.is_list(typ):
        width = {pa.int32(): "<i", pa.int64(): "<q", pa.float32(): "<f", pa.float64(): "<d"}.get(typ.value_type)
        if width:
            return u64(len(value)) + b"".join(struct.pack(width, v) for v in value)
        return u64(len(value)) + b"".join(laid(v, typ.value_type) for v in value)
    if pa.types.is_struct(typ):
        return columns(value, typ)
    if pa.types.is_boolean(typ):
        return u64(int(value))
    if pa.types.is_integer(typ):
        return u64(value)
    if pa.types.is_floating(typ):
        return struct.pack("<d", value)
    text = value if isinstance(value, bytes) else value.encode()
    return u64(len(text)) + text


def columns(row, fields, path="", volatile=(), wanted=lambda name: True):
    out = b""
    for field in sorted(fields, key=lambda f: f.name.encode()):
        value = row[field.name]
        if absent(value) or path + field.name in volatile or not wanted(field.name):
            continue
        inner = nested(value, field.type, path + field.name + ".", volatile)
        if pa.types.is_struct(field.type) and len(inner) == 8:
            continue
        out += u64(xxhash.xxh3_64_intdigest(field.name.encode())) + inner
    return out + u64(0)


def nested(value, typ, path, volatile):
    if pa.types.is_list(typ) and pa.types.is_struct(typ.value_type):
        return u64(len(value)) + b"".join(columns(v, typ.value_type, path, volatile) for v in value)
    if pa.types.is_struct(typ):
        return columns(value, typ, path, volatile)
    return laid(value, typ)


def digest(folder, parts):
    rows, total = 0, 0
    for part in parts:
        file = pq.ParquetFile(folder / part["name"])
        marks = json.loads(file.schema_arrow.metadata[b"rollmill"])
        volatile, payload = set(marks.get("volatile", [])), set(marks.get("payload", []))
        table = file.read()
        for i, field in enumerate(table.schema):
            if pa.types.is_timestamp(field.type):
                table = table.set_column(i, field.name, table[field.name].cast(pa.int64()))
        for row in table.to_pylist():
            if payload:
                sum = xxhash.xxh3_128_hexdigest(columns(row, table.schema, volatile=volatile, wanted=lambda n: n in payload))
                if sum != row["payload_digest"]:
                    sys.exit(f"{folder}: the payload digest of {row['trajectory_id']} is {sum}, its row says {row['payload_digest']}")
            total += xxhash.xxh3_128_intdigest(columns(row, table.schema, volatile=volatile, wanted=lambda n: n not in payload))
            rows += 1
    return f"{rows}-{total % 2**128:032x}"


def main(folders):
    seen = 0
    for manifest in sorted(m for f in folders for m in pathlib.Path(f).rglob("_dataset.json")):
        content = json.loads(manifest.read_text())["dataset"]
        for name, table in {"": content, **content.get("tables", {})}.items():
            got, seen = digest(manifest.parent, table["parts"]), seen + 1
            if got != table["rows_digest"]:
                sys.exit(f"{manifest}, table {name!r}: rows digest {got}; the manifest says {table['rows_digest']}")
    print(f"{seen} tables have the rows digest that Python computes")
    return 0 if seen else "no datasets"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
