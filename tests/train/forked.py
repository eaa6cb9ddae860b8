"""Several groups of ranks, forked one after the other from one process that has loaded torch.

Run as ``python -m train.forked FOLDER``, or with ``eight`` after it. What the ranks of a group
print, and how they end, is left in the folder as JSON.

A rank of two was once seen to end with SIGSEGV, and with torch 2.10 some, now and then, with
SIGABRT ("pool INTERNAL ASSERT FAILED", of its threads after a fork); no test sends these and
no Python raises them. A group in which that happens is run once more, and what it said goes to
stderr; one in which it happens twice is a failure.
"""

import faulthandler
import json
import os
import shutil
import signal
import socket
import sys
import traceback
from pathlib import Path

import torch
import torch._dynamo  # with the next line, 2 s that each rank would need again
import torch.distributed.fsdp
from train import parallel_run, rank_run

from mathlm.train import process_group

TESTS = Path(__file__).parents[1]
DISTURBED = [
    (name, kind) for name in ("kill", "term", "nan") for kind in ("sum", "ddp", "fsdp")
]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return str(s.getsockname()[1])


def member(log, work, joined):
    """The life of one rank: what it returns goes to its log, what it raises too."""
    code = 1
    handle = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    os.dup2(handle, 2)
    faulthandler.enable()
    try:
        with joined:
            log.with_suffix(".json").write_text(json.dumps(work()))
        code = 0
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
    os._exit(code)


def group(n, folder, work, joined=None):
    """Run ``work`` in ``n`` ranks, within ``joined``; their exit codes, results and logs."""
    joined = process_group(timeout=60) if joined is None else joined
    folder.mkdir(parents=True)
    os.environ |= {"WORLD_SIZE": str(n), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
    children = []
    for r in range(n):
        os.environ |= {"RANK": str(r), "LOCAL_RANK": str(r)}
        child = os.fork()
        if child == 0:
            member(folder / f"rank{r}.log", work, joined)
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    results = [folder / f"rank{r}.json" for r in range(n)]
    return {
        "codes": codes,
        "results": [json.loads(p.read_text()) if p.exists() else None for p in results],
        "errors": [(folder / f"rank{r}.log").read_text() for r in range(n)],
    }


def group_again(n, folder, work):
    """A group of ranks; a second one if torch itself ended a rank of the first.

    ``work`` gets a folder for its checkpoints.
    """
    place = folder / "saved"
    found = group(n, folder, lambda: work(place))
    if {-signal.SIGSEGV, -signal.SIGABRT} & set(found["codes"]):
        print(*found["errors"], sep="\n", file=sys.stderr)
        shutil.rmtree(folder)
        found = group(n, folder, lambda: work(place))
    return found


def everything(folder):
    """All groups that the tests look at."""
    one, found = folder / "one", {}
    group(1, folder / "logs1", lambda: parallel_run.saved("sum", one))
    found["2 ranks"] = group_again(
        2,
        folder / "two",
        lambda place: rank_run.undisturbed() | parallel_run.two(place, one / "sum"),
    )
    found["3 ranks"] = group_again(
        3, folder / "three", lambda _: rank_run.undisturbed() | parallel_run.three()
    )
    for name, kind in DISTURBED:

        def disturbed(place, name=name, kind=kind):
            return rank_run.disturbed_run(name, place, kind)

        found[f"{name} {kind}"] = group_again(2, folder / f"{name} {kind}", disturbed)
    return found


def eight(folder):
    """One group of eight ranks; most have no row of a step of two."""
    return group_again(8, folder / "eight", parallel_run.eight)


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    place = Path(sys.argv[1])
    found = eight(place) if sys.argv[2:] == ["eight"] else everything(place)
    (place / "found.json").write_text(json.dumps(found))
