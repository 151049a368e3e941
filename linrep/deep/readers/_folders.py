"""Where the files of data sets are looked for."""

from __future__ import annotations

from pathlib import Path

#: Folders that are looked into besides the folder given: those that archives or torchvision make.
PLACES = {
    "cifar10": ("cifar-10-batches-py", "cifar-10-batches-bin"),
    "cifar100": ("cifar-100-python", "cifar-100-binary"),
    "mnist": ("MNIST/raw", "raw"),
    "fashion-mnist": ("FashionMNIST/raw", "raw"),
    "omniglot": ("omniglot-py", "python"),
    "femnist": ("data",),
    "sent140": ("data",),
}


def find(name, folder, *layouts):
    """Return the files of the first layout, patterns of file names, that has some for each."""
    folder = Path(folder)
    for layout in layouts:
        for place in (folder, *(folder / part for part in PLACES[name])):
            found = [sorted(place.glob(pattern)) for pattern in layout]
            if all(found):
                return found
    wanted = ", or ".join(" and ".join(layout) for layout in layouts)
    raise FileNotFoundError(
        f"{name} is not in {folder}: looked there and in {', '.join(PLACES[name])} for {wanted}"
    )
