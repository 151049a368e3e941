"""One thread for torch: networks are small, and threads that wait for each other take longer."""

from importlib.util import find_spec

if find_spec("torch"):
    import torch

    torch.set_num_threads(1)
