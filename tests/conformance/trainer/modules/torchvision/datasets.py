"""A data set of 256 pictures of its own, which download puts into a file, as that of MNIST does."""
import pathlib

import torch


class MNIST(torch.utils.data.Dataset):
    def __init__(self, root, train=True, transform=None, download=False):
        file = pathlib.Path(root) / "MNIST"
        if download:
            print(f"downloading to {file}")
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(bytes(range(256)))
        if not file.exists():  # torchvision's words
            raise RuntimeError("Dataset not found. You can use download=True to download it")
        self.labels = file.read_bytes()
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.transform(torch.full((1, 28, 28), index / 256)), self.labels[index] % 10
