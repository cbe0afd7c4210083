"""Writes stubs for the CUDA libraries that torch's wheel links but that nothing calls on a machine without a GPU.

The real ones take gigabytes. Run it with the Python of the environment that has torch; it needs cc, nm and readelf.
"""

import collections
import pathlib
import re
import subprocess
import sysconfig
import tempfile

LIB = pathlib.Path(sysconfig.get_paths()["purelib"], "torch", "lib")
REAL = ("libcudart.so", "libcupti.so", "libcuda.so")  # small and installed, or the system's
PREFIXES = {  # of a symbol without a version: the library that has it
    "cublasLt": "libcublasLt", "cublas": "libcublas", "cudnn": "libcudnn", "cufft": "libcufft", "curand": "libcurand",
    "cusparseLt": "libcusparseLt", "cusparse": "libcusparse", "cusolver": "libcusolver", "nccl": "libnccl", "pnccl": "libnccl",
    "nvshmem": "libnvshmem_host", "nvrtc": "libnvrtc", "cuFile": "libcufile", "cufile": "libcufile", "nvJitLink": "libnvJitLink",
}


def output(*command: str) -> list[str]:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def needed_libraries(objects: list[str]) -> set[str]:
    found = set()
    for path in objects:
        for line in output("readelf", "-dW", path):
            if m := re.search(r"\(NEEDED\).*\[(lib(?:cu|nv|nccl).*)\]", line):
                found.add(m[1])
    return found


def homes_of_versions(objects: list[str]) -> dict[str, str]:
    """The library that must provide each symbol version."""
    homes: dict[str, str] = {}
    for path in objects:
        library = None
        for line in output("readelf", "-VW", path):
            if m := re.search(r"File: (\S+)", line):
                library = m[1]
            if (m := re.search(r"Name: (\S+)\s+Flags", line)) and library:
                homes.setdefault(m[1], library)
    return homes


def symbols(objects: list[str]) -> dict[str, str]:
    """The undefined symbols that no object defines, with their versions."""
    defined, undefined = set(), {}
    for path in objects:
        for line in output("nm", "-D", path):
            kind, name = line.split()[-2:]
            name, _, version = name.partition("@")
            if kind == "U":
                undefined[name] = version.lstrip("@")
            else:
                defined.add(name)
    return {name: version for name, version in undefined.items() if name not in defined}


def home(name: str, version: str, needed: set[str], homes: dict[str, str]) -> str | None:
    for prefix, library in PREFIXES.items():
        if name.startswith(prefix):
            return next((n for n in needed if n.startswith(library + ".")), None)
    return homes[version] if homes.get(version) in needed else None


def build(library: str, names: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source, script = pathlib.Path(folder, "stub.c"), pathlib.Path(folder, "versions")
        source.write_text("".join(f"int {name}(void) {{ return 1; }}\n" for name in sorted(names)) or "int stub;\n")
        versions = collections.defaultdict(list)
        for name, version in names.items():
            if version:
                versions[version].append(name)
        script.write_text("\n".join(f"{v} {{ global: {'; '.join(n)}; }};" for v, n in versions.items()))
        flags = [f"-Wl,--version-script={script}"] if versions else []
        subprocess.run(["cc", *flags, "-w", "-fno-builtin", "-shared", "-fPIC", f"-Wl,-soname,{library}",
                        "-o", str(LIB / library), str(source)], check=True)


def main() -> None:
    objects = [str(path) for path in sorted(LIB.glob("*.so"))]
    needed, homes = needed_libraries(objects), homes_of_versions(objects)
    stubs: dict[str, dict[str, str]] = {library: {} for library in needed if not library.startswith(REAL)}
    for name, version in symbols(objects).items():
        library = home(name, version, needed, homes)
        if library in stubs:
            stubs[library][name] = version
    for library, names in sorted(stubs.items()):
        build(library, names)


main()
