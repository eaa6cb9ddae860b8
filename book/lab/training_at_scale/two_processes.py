"""Two processes that share one step in every way; started by :func:`run`."""

import argparse
import json
import multiprocessing
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
import torch._dynamo  # optimizers need it: 1.5 s in each process, unless it is here already
import torch.distributed.fsdp  # so does FSDP

from mathlm.errors import MathLMError
from mathlm.train import process_group
from mathlm.train.parallel import KINDS

from .context_parallel import context_parallel
from .expert_parallel import expert_parallel
from .parallel_demos import data_parallel, pipeline, tensor_parallel
from .zero_demos import by_torch, trainer, zero

FILE = "two_processes.json"


def run(folder: str | Path | None = None) -> dict[str, Any]:
    """Start two processes, wait for them, and return what they found.

    Args:
        folder: Receives a checkpoint of each run of the Trainer, in ``sum``, ``ddp`` and
            ``fsdp``; None keeps none.

    Returns:
        ``data_parallel``, ``tensor_parallel``, ``pipeline``, ``context_parallel``,
        ``expert_parallel``: dicts; ``zero``: one for each
        stage; ``trainer``: one for each kind, and ``one``, a single process. ``difference``
        and the like are relative to one process; ``bytes`` is what the kernel counted that
        rank 0 sent in a step (None if not on Linux), ``theory`` what it should be.

    Raises:
        MathLMError: If a process fails; with its last words.
    """
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(folder or temporary).resolve()
        command = [sys.executable, "-m", "lab.training_at_scale.two_processes", str(place)]
        search = os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])
        environment = os.environ | {"PYTHONPATH": search, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise MathLMError(f"two processes failed: {done.stderr[-2000:]}")
        return json.loads((place / FILE).read_text())


def together(folder: Path) -> dict[str, Any]:
    """All that this rank and the other compute together."""
    return {
        "data_parallel": data_parallel(),
        "tensor_parallel": tensor_parallel(),
        "pipeline": pipeline(),
        "context_parallel": context_parallel(),
        "expert_parallel": expert_parallel(),
        "zero": [zero(stage) for stage in range(4)],
        "trainer": {kind: by_torch(kind, folder) for kind in KINDS},
    }


def member(rank: int, port: int, folder: Path) -> None:
    """The life of one of the two processes."""
    torch.set_num_threads(1)
    address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2"}
    os.environ |= address | {"RANK": str(rank), "LOCAL_RANK": str(rank)}
    with process_group():
        found = together(folder)
    if rank == 0:
        (folder / FILE).write_text(json.dumps(found))


def main(folder: Path) -> None:
    """Fork two processes, which thus need not load torch again; then compute alone."""
    folder.mkdir(parents=True, exist_ok=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    multiprocessing.set_start_method("fork" if sys.platform == "linux" else "spawn")
    work = [(r, port, folder) for r in range(2)]
    members = [multiprocessing.Process(target=member, args=arguments) for arguments in work]
    for process in members:
        process.start()
    for process in members:
        process.join()
    if any(process.exitcode for process in members):
        sys.exit(1)
    found = json.loads((folder / FILE).read_text())
    history = trainer().fit()
    found["trainer"]["one"] = {
        "losses": [record["loss"] for record in history],
        "norms": [record["grad_norm"] for record in history],
    }
    (folder / FILE).write_text(json.dumps(found))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where results and checkpoints go")
    main(parser.parse_args().folder)
