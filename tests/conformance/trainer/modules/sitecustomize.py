"""What the document's training script leaves to its reader: a model, a data set of 256 samples, a loss."""
import builtins
import os


def fill_in():
    import torch

    class MyModel(torch.nn.Linear):
        def __init__(self):
            super().__init__(4, 2)

    class MyDataset(torch.utils.data.Dataset):
        def __len__(self):
            return 256

        def __getitem__(self, index):
            return torch.full((4,), index / 256), index % 2

    builtins.MyModel, builtins.MyDataset = MyModel, MyDataset
    builtins.criterion = torch.nn.functional.cross_entropy


if os.environ.get("FILL_IN"):
    fill_in()
