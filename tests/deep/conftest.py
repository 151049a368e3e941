"""One thread for torch, and both ways of stepping.

Networks are small, and threads that wait for each other take longer.
"""

from importlib.util import find_spec

import pytest

if find_spec("torch"):
    import torch

    torch.set_num_threads(1)


@pytest.fixture(params=["loop", "vmap"])
def engine(request):
    """Train clients one after another, then together, whatever the size of their networks."""
    from tests.deep import small

    with small.stepping(request.param):
        yield request.param
