"""Writes numpy_random.json: what np.random draws after np.random.seed, in the legacy generator's own terms.

Run by hand with NumPy 2.x; the tests read the JSON and need no Python. Numbers are written with all their digits.
"""
import json
import pathlib

import numpy

SEEDS = (0, 1, 42, 20230617, 2**31, 2**32 - 1)
RANGES = ((0, 1), (0, 2), (-3, 4), (0, 100), (0, 2**32 - 1), (0, 2**32), (-5, 2**32 - 4), (0, 2**40), (-2**63, 2**63 - 1))


def draws(seed):
    numpy.random.seed(seed)
    mixed = [numpy.random.randn(3).tolist(), numpy.random.rand(2).tolist(), numpy.random.randn(1).tolist(),
             numpy.random.randn(2, 2).ravel().tolist(), [numpy.random.random_sample()]]  # a kept second one in between
    integers = [[int(numpy.random.randint(low, high, dtype=numpy.int64)) for _ in range(5)] for low, high in RANGES]
    arrays = [numpy.random.randint(low, high, size=5, dtype=numpy.int64).tolist() for low, high in RANGES]
    numpy.random.seed(seed)
    many = numpy.random.randn(1501)
    return {"seed": seed, "mixed": mixed, "integers": integers, "integer_arrays": arrays,
            "every_tenth_of_1501": many[::10].tolist(), "uniform_after": numpy.random.rand(5).tolist()}


if __name__ == "__main__":
    path = pathlib.Path(__file__).with_suffix(".json")
    document = {"numpy": numpy.__version__, "ranges": RANGES, "draws": [draws(seed) for seed in SEEDS]}
    path.write_text(json.dumps(document, indent=1) + "\n")
