"""Gives the init_process_group of PyTorch 1 the default backend that PyTorch 2 has.

demo.py names no backend: since 2.0 that means gloo for tensors on the CPU, in 1.13, which is what
Debian 12 has, it is a TypeError. A newer PyTorch is left as it is.
"""
import functools
import importlib.abc
import importlib.machinery
import inspect
import sys

MODULE = "torch.distributed.distributed_c10d"


def with_default_backend(init):
    @functools.wraps(init)
    def init_process_group(backend="gloo", *args, **kwargs):
        return init(backend, *args, **kwargs)

    return init_process_group


class Loader(importlib.abc.Loader):
    def __init__(self, loader):
        self.loader = loader

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        self.loader.exec_module(module)
        backend = inspect.signature(module.init_process_group).parameters["backend"]
        if backend.default is inspect.Parameter.empty:
            module.init_process_group = with_default_backend(module.init_process_group)


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != MODULE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None:
            spec.loader = Loader(spec.loader)
        return spec


sys.meta_path.insert(0, Finder())
