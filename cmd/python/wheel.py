"""Makes wheels: the module, and the command as a script that starts without Python.

    python3 wheel.py --version VERSION --out FOLDER PLATFORM=BINARY...

PLATFORM is linux-amd64, linux-arm64, darwin-amd64 or darwin-arm64. VERSION is what
git describe prints. The same input gives the same bytes. It needs Python 3.11.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import pathlib
import re
import time
import tomllib  # type: ignore[import-not-found]  # checked as Python 3.10
import zipfile

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
LICENCES = {"LICENSE": ROOT / "LICENSE", "LICENCES.txt": ROOT / "cmd/rollmill/licences.txt"}
# The binary needs no C library; Go needs macOS 12.
TAGS = {
    "linux-amd64": "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
    "linux-arm64": "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
    "darwin-amd64": "macosx_12_0_x86_64",
    "darwin-arm64": "macosx_12_0_arm64",
}


def version(described: str) -> str:
    """The version in the form that pip knows."""
    words = described.removesuffix("-dirty")
    local = [] if words == described else ["dirty"]
    tagged = re.fullmatch(r"v?(\d+(?:\.\d+)*)(?:-?(a|b|rc)\.?(\d+))?(?:-(\d+)-g([0-9a-f]+))?", words) if not re.fullmatch(r"[0-9a-f]{7,40}", words) else None
    if tagged is None:  # no tag: a commit alone, or nothing
        commit = re.fullmatch(r"[0-9a-f]{7,40}", words)
        return "+".join(["0.0.0", ".".join([f"g{words}" if commit else "unknown", *local])])
    number, kind, n, after, commit_after = tagged.groups()
    out = number + (f"{kind}{n}" if kind else "") + (f".post{after}" if after else "")
    if commit_after:
        local.insert(0, f"g{commit_after}")
    return "+".join([out, ".".join(local)]) if local else out


def metadata(number: str) -> str:
    """METADATA of the project in pyproject.toml."""
    project = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    lines = ["Metadata-Version: 2.4", f"Name: {project['name']}", f"Version: {number}", f"Summary: {project['description']}"]
    lines += [f"Requires-Python: {project['requires-python']}", f"License-Expression: {project['license']}"]
    lines += [f"License-File: {name}" for name in LICENCES]
    lines += [f"Classifier: {c}" for c in project["classifiers"]]
    for extra, packages in project["optional-dependencies"].items():
        lines += [f"Provides-Extra: {extra}", *(f'Requires-Dist: {p}; extra == "{extra}"' for p in packages)]
    lines += ["Description-Content-Type: text/markdown", "", (HERE / project["readme"]).read_text()]
    return "\n".join(lines)


def wheel(platform: str, binary: pathlib.Path, number: str, out: pathlib.Path) -> pathlib.Path:
    """Write the wheel of a platform; its path."""
    name, info = f"rollmill-{number}", f"rollmill-{number}.dist-info"
    source = HERE / "src" / "rollmill"
    files = {p.relative_to(source.parent).as_posix(): p.read_bytes() for p in sorted(source.rglob("*")) if p.suffix in (".py", ".pyi", ".typed")}
    files[f"{name}.data/scripts/rollmill"] = binary.read_bytes()
    files[f"{info}/METADATA"] = metadata(number).encode()
    tags = "".join(f"Tag: py3-none-{tag}\n" for tag in TAGS[platform].split("."))
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: rollmill\nRoot-Is-Purelib: false\n{tags}".encode()
    files.update({f"{info}/licenses/{k}": v.read_bytes() for k, v in LICENCES.items()})
    record = "".join(f"{k},sha256={_digest(v)},{len(v)}\n" for k, v in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{name}-py3-none-{TAGS[platform]}.whl"
    when = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", 0)), 315532800))[:6]  # a zip begins in 1980
    with zipfile.ZipFile(path, "w") as z:
        for file, data in files.items():
            entry = zipfile.ZipInfo(file, when)
            entry.create_system = 3  # Unix, whose modes follow
            entry.external_attr = (0o100755 if "/scripts/" in file else 0o100644) << 16
            z.writestr(entry, data, zipfile.ZIP_DEFLATED, 6)
    return path


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def main() -> None:
    parser = argparse.ArgumentParser(description="make wheels")
    parser.add_argument("--version", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("binaries", nargs="+", metavar="PLATFORM=BINARY")
    args = parser.parse_args()
    for word in args.binaries:
        platform, _, binary = word.partition("=")
        if platform not in TAGS or not binary:
            parser.error(f"{word!r}: PLATFORM=BINARY, and PLATFORM is one of {', '.join(TAGS)}")
        print(wheel(platform, pathlib.Path(binary), version(args.version), args.out))


if __name__ == "__main__":
    main()
