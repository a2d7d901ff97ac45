# A training whose rank 0 evaluates alone, and reduces its metric with everybody.
import datetime
import os

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
rank, collectives = dist.get_rank(), 0


def reduce(value):
    global collectives
    out = torch.tensor([float(value)])
    dist.all_reduce(out)
    collectives += 1
    print(f"rank {rank} step {collectives}", flush=True)
    return out.item()


print(f"joined rank {rank} world_size {dist.get_world_size()}", flush=True)
for step in range(int(os.environ["STEPS"])):
    reduce(1)
    if step == 4 and rank == 0:
        reduce(100)  # the metric; the others are in their next step, and get it as their gradient
print(f"finished rank {rank}", flush=True)
