"""What the server of ``forked_kernels`` imports before it forks."""

import gc
import os

# as a kernel sets it; Matplotlib reads it once, when it is imported
os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")

import ipykernel.kernelapp
import IPython
import matplotlib.pyplot
import numpy
import torch
import torch._dynamo  # the first optimizer of a process would import it, for a second

__all__ = ["IPython", "ipykernel", "matplotlib", "numpy", "torch"]
gc.freeze()  # what is there already need not be looked at by each kernel's collector
