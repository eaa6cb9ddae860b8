"""Kernels that are forked from a process which has imported PyTorch and Matplotlib.

These imports, and IPython's own, take a third of the time of a usual page. Papermill and nbval
start one kernel for each page: after ``use()`` a kernel is a copy of a server that waits with
the libraries in its memory. The book's own packages are not among them: a page that forgot to
import one of its modules has to fail here too.

pytest takes this module as a plugin: ``-p forked_kernels``.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import sys
import tempfile
import threading
import uuid
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner

# jsonschema would compile a grammar of web addresses with it, for 2 s in each process
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
NAME = "forked"
SERVER = "kernel_imports"  # the module that the server imports before it forks


def run_kernel(argv: list[str], environment: dict[str, str], folder: str) -> None:
    """Be the kernel: what a process started by ``python -m ipykernel_launcher`` would be."""
    os.setsid()  # a signal to the kernel's group reaches what it starts, and not the server
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    threading.Thread(target=end_with_parent, daemon=True).start()
    sys.argv = ["ipykernel_launcher", *argv]
    from ipykernel.kernelapp import launch_new_instance

    try:
        launch_new_instance(argv=argv)
    finally:  # a process of multiprocessing would leave them out
        atexit._run_exitfuncs()


def end_with_parent() -> None:
    """Do not stay when the process that asked for the kernel is gone, however it ended."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


class Forked:
    """A kernel's process with the methods of ``subprocess.Popen`` that a provisioner calls."""

    stdin = stdout = stderr = None

    def __init__(self, argv: list[str], environment: dict[str, str], folder: str) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([SERVER])
        self.process = context.Process(target=run_kernel, args=(argv, environment, folder))
        self.process.start()
        assert self.process.pid is not None
        self.pid = self.process.pid

    def poll(self) -> int | None:
        """The exit status; None while it runs."""
        return self.process.exitcode

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait for the end; the exit status."""
        self.process.join(timeout)
        return self.process.exitcode

    def send_signal(self, number: int) -> None:
        """To the process alone."""
        os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()

    def terminate(self) -> None:
        """Ask it to end."""
        self.process.terminate()


class ForkedProvisioner(LocalProvisioner):
    """Starts kernels as forks; all else is as for a local kernel."""

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        """Talk through files: another process can take a free port before the kernel does."""
        if self.parent is not None and self.parent.transport != "ipc":
            self.parent.transport = "ipc"
            # the system allows a name of some hundred characters
            self.parent.ip = str(Path(tempfile.gettempdir()) / f"kernel-{uuid.uuid4().hex}")
        return await super().pre_launch(**kwargs)

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """A kernel for ``cmd``, which is ``python -m ipykernel_launcher`` with its options."""
        folder = str(kwargs.get("cwd") or Path.cwd())
        process = Forked(cmd[cmd.index("ipykernel_launcher") + 1 :], kwargs["env"], folder)
        self.process = process  # type: ignore[assignment]
        self.pid = self.pgid = process.pid  # type: ignore[assignment]
        self.cwd = folder  # type: ignore[assignment]
        return self.connection_info


def use() -> None:
    """Fork all kernels that this process starts from now on; on Linux, else change nothing."""
    if sys.platform != "linux":  # elsewhere a library may not survive the fork
        return
    factory = KernelProvisionerFactory.instance()
    group = KernelProvisionerFactory.GROUP_NAME
    factory.provisioners[NAME] = EntryPoint(NAME, f"{__name__}:ForkedProvisioner", group)
    factory.default_provisioner_name = NAME


def pytest_configure() -> None:
    use()
