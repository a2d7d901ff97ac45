"""All-reduces of ones: each step's sum must be the number of processes."""
import time

import torch
import torch.distributed as dist

STEPS = 3

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
print(f"joined rank {rank} world_size {world}", flush=True)
for step in range(1, STEPS + 1):
    total = torch.ones(1)
    dist.all_reduce(total)
    assert total.item() == world
    time.sleep(0.1)
    print(f"step {step}/{STEPS} rank {rank} loss 0.0", flush=True)
print(f"finished rank {rank} steps {STEPS} parameters 0", flush=True)
dist.destroy_process_group()
