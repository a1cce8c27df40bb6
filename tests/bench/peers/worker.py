#!/usr/bin/python3
"""worker.py PROGRAM FILTER IN OUT: filters a file with a Python library and prints the seconds of the filter alone.
worker.py make TYPE ZxYxX OUT: writes an image of noise."""
import sys
import time

import numpy
import tifffile


def gradient(image):
    return numpy.sqrt(sum(part * part for part in numpy.gradient(image)))


def structure_tensor(image, rho):
    from skimage.feature import structure_tensor, structure_tensor_eigenvalues
    return structure_tensor_eigenvalues(structure_tensor(image, sigma=rho, mode="nearest"))


def make(kind, extents, target):
    shape = [int(n) for n in extents.split("x")]
    image = (numpy.random.default_rng(1).random(shape, dtype="float32") * 250).astype(kind)
    tifffile.imwrite(target, image[0] if shape[0] == 1 else image)


def main():
    program, asked, source, target = sys.argv[1:]
    if program == "make":
        make(asked, source, target)
        return
    name, *values = asked.split()
    image = tifffile.imread(source)
    if program == "scipy":
        from scipy.ndimage import gaussian_filter
        work = lambda: gaussian_filter(image, float(values[0]), mode="nearest")
    elif program == "opencv":
        import cv2
        size = (int(values[1]),) * 2
        work = lambda: cv2.GaussianBlur(image, size, float(values[0]), borderType=cv2.BORDER_REPLICATE)
    elif name == "gradient":
        work = lambda: gradient(image)
    else:
        work = lambda: structure_tensor(image, float(values[0]))
    began = time.monotonic()
    result = work()
    print(time.monotonic() - began)
    tifffile.imwrite(target, numpy.ascontiguousarray(result).astype(image.dtype, copy=False))


main()
