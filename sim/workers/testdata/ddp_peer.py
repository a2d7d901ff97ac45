"""A rank as a user would write it: stock DistributedDataParallel and DistributedSampler, env://.

It has the model and the data of torch_model.cpp and data.hpp, so that it can share a group with
ddptwin-worker; the last line is the worker's own, with a hash of the parameters' bytes.
usage: ddp_peer.py STEPS HIDDEN      HIDDEN 0: the linear model of ddptwin-worker-gloo
"""
import sys

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset, DistributedSampler

FEATURES = 32


class Numbers(Dataset):
    def __len__(self):
        return 1024

    def __getitem__(self, sample):
        mixed = [((sample * 2654435761 + column * 2246822519) & 0xFFFFFFFF) >> 22
                 for column in range(FEATURES)]
        features = (torch.tensor(mixed, dtype=torch.float32) - 512) / 512
        return features, features[0:1] * 0.5 - features[1:2] + features[2:3] * 0.25


def fnv1a(parameters):
    value = 14695981039346656037
    for parameter in parameters:
        for byte in parameter.detach().view(torch.uint8).flatten().tolist():
            value = ((value ^ byte) * 1099511628211) & (2**64 - 1)
    return value


def main():
    steps, hidden = int(sys.argv[1]), int(sys.argv[2])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(100 + rank)
    net = torch.nn.Linear(FEATURES, 1) if hidden == 0 else torch.nn.Sequential(
        torch.nn.Linear(FEATURES, hidden), torch.nn.ReLU(),
        torch.nn.Linear(hidden, hidden), torch.nn.ReLU(),
        torch.nn.Linear(hidden, 1))
    model = torch.nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    data = Numbers()
    sampler = DistributedSampler(data, seed=0)
    done = 0
    for epoch in range(steps):
        sampler.set_epoch(epoch)
        for features, wanted in DataLoader(data, batch_size=8, sampler=sampler):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(features), wanted)
            loss.backward()
            optimizer.step()
            done += 1
            print(f"step {done}/{steps} rank {rank} loss {loss.item():.4f}", flush=True)
            if done == steps:
                parameters = fnv1a(net.parameters())
                print(f"finished rank {rank} steps {steps} parameters {parameters:016x}")
                return


main()
