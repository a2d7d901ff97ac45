"""Of torchvision, which this machine has not, what the document's MNIST script uses."""
