"""The files of the weights: step-0.pt, step-1.pt, ... in one folder."""

import os


def path(folder, step):
    return folder / f"step-{step}.pt"


def newest(folder):
    """The number of the last checkpoint."""
    steps = [int(p.stem.removeprefix("step-")) for p in folder.glob("step-*.pt")]
    if not steps:
        raise ValueError(f"{folder} has no step-0.pt; sums.py makes one for the example's task")
    return max(steps)


def load(folder, step):
    import torch  # here, because begin needs only the number

    return torch.load(path(folder, step), map_location="cuda" if torch.cuda.is_available() else "cpu")


def save(folder, step, state):
    """Write a checkpoint, whole or not at all. It fails if that step exists: a file
    is never replaced, so a version means the same weights for ever."""
    import torch

    part = folder / f".step-{step}.{os.getpid()}"
    with open(part, "wb") as f:
        torch.save(state, f)
        f.flush()
        os.fsync(f.fileno())
    try:
        os.link(part, path(folder, step))
    finally:
        part.unlink()
    directory = os.open(folder, os.O_RDONLY)
    os.fsync(directory)
    os.close(directory)
