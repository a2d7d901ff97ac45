class ToTensor:
    def __call__(self, picture):
        return picture


class Normalize:
    def __init__(self, mean, std):
        self.mean, self.std = mean[0], std[0]

    def __call__(self, picture):
        return (picture - self.mean) / self.std


class Compose:
    def __init__(self, steps):
        self.steps = steps

    def __call__(self, picture):
        for step in self.steps:
            picture = step(picture)
        return picture
