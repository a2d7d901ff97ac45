"""The training of the page's launcher: the built-in worker, one a process of torchrun's."""
import os

os.execvp("ddptwin-worker", ["ddptwin-worker", "--steps", "20", "--step-time", "100ms"])
