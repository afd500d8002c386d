"""Writes from_python.safetensors with the safetensors package, for the tests to read. Run by hand."""
import pathlib

import numpy
from safetensors.numpy import save_file

save_file(
    {
        "weight": numpy.array([[1.5, -2.0, 0.25], [float("inf"), float("nan"), -0.0]]),
        "half/ê": numpy.array([3.5, 4.5], dtype=numpy.float32),
        "ids": numpy.array(-7, dtype=numpy.int64),
        "mask": numpy.array([True, False, True]),
        "none": numpy.zeros((0, 3)),
    },
    pathlib.Path(__file__).with_suffix(".safetensors"),
    metadata={"made by": "safetensors", "chữ": "tiếng Việt"},
)
