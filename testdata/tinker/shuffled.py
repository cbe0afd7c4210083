"""The worker of backend tinker as a control: it hands the advantages of a batch to the wrong
sequences, so that its policy has nothing to learn from."""

import random

import numpy

from rollmill.tinker import _batch, _train

read = _batch.read


def shuffled(uri):
    batch = read(uri)
    values = [float(s.advantages[s.mask].mean()) for s in batch]
    random.Random(7).shuffle(values)
    for s, value in zip(batch, values):
        s.advantages = numpy.where(s.mask, value, 0.0)
    return batch


if __name__ == "__main__":
    _batch.read = shuffled
    _train.main()
