"""The process that keeps running: ART's engine and its trainer."""

from __future__ import annotations

import asyncio
import fcntl
import importlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._need import need
from ._groups import PACKAGE, groups


def write(path: Path, value: Any) -> None:
    """Atomic: a reader never sees half of the file."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(value))
    os.replace(part, path)


class Server:
    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        art = need("art", "training in process", PACKAGE)
        self.folder, self.settings = folder, settings
        module, name = settings.get("art_backend", "art.local:LocalBackend").split(":")
        self.backend: Any = getattr(importlib.import_module(module), name)()
        internal = json.loads(settings.get("internal_config", "null"))
        self.model: Any = art.TrainableModel(
            name=settings.get("name", "trainer_run"),
            project=settings.get("project", "trainer_project"),
            base_model=settings.get("base_model", "Qwen/Qwen2.5-7B-Instruct"),
            **({"_internal_config": internal} if internal else {}),
        )

    async def standing(self) -> dict[str, Any]:
        step = await self.model.get_step()
        return {"step": step, "policy": {"url": self.model.inference_base_url, "model": self.model.get_inference_name(step), "version": step}}

    async def tell(self) -> None:
        write(self.folder / "server.json", {"pid": os.getpid(), **await self.standing()})

    async def run(self) -> None:
        server_args = json.loads(self.settings.get("server_args", "{}"))
        await self.model.register(self.backend, _openai_client_config={"server_args": server_args} if server_args else None)
        for job in self.waiting():  # started by a process that is gone
            if (job / "begun.json").exists():
                await self.found(job)
        await self.tell()
        while not (self.folder / "stop").exists():
            for job in self.waiting():
                await self.work(job)
                await self.tell()
            await asyncio.sleep(0.2)
        await self.backend.close()

    def waiting(self) -> list[Path]:
        ready = [p.parent for p in self.folder.glob("*/request.json") if not (p.parent / "result.json").exists()]
        return sorted(ready, key=lambda j: ((j / "request.json").stat().st_mtime_ns, j))

    async def found(self, job: Path) -> None:
        """After the process of a training died, only ART's step shows whether it happened."""
        before, now = json.loads((job / "begun.json").read_text())["step"], await self.standing()
        if now["step"] > before:
            message = f"the step went from {before} to {now['step']}; the metrics are lost"
            return write(job / "result.json", {"state": "completed", "message": message, **now})
        message = f"the process was gone before a checkpoint came of it; the step is still {before}"
        write(job / "result.json", {"state": "failed", "message": message})

    async def work(self, job: Path) -> None:
        try:
            request = json.loads((job / "request.json").read_text())
            write(job / "begun.json", before := await self.standing())
            keywords = json.loads(self.settings.get("train_args", "{}"))
            if "learning_rate" in self.settings:
                keywords["learning_rate"] = float(self.settings["learning_rate"])
            result = await self.backend.train(self.model, groups(request["curated"].removeprefix("file://")), **keywords)
            (job / "metrics.jsonl").write_text(json.dumps({k: v for k, v in result.metrics.items() if v == v}) + "\n")
            state = "completed" if result.step > before["step"] else "untrained"
            write(job / "result.json", {"state": state, **await self.standing()})
        except Exception as e:
            write(job / "result.json", {"state": "failed", "message": f"{type(e).__name__}: {e}"})


def serving(folder: Path) -> bool:
    """Whether the process is running: it holds a lock while it is."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "server.lock", "a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def serve(folder: Path) -> None:
    lock = open(folder / "server.lock", "a")
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # of two concurrent processes the second ends here
    (folder / "server.json").unlink(missing_ok=True)
    asyncio.run(Server(folder, json.loads((folder / "settings.json").read_text())).run())
