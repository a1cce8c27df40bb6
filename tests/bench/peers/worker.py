#!/usr/bin/python3
"""worker.py PROGRAM FILTER IN OUT: filters a file with a library and prints the seconds of the filter alone: from the
image in memory to a result in memory that it asks for.
worker.py make TYPE ZxYxX OUT: writes an image of noise.
worker.py compare '' ONE OTHER: prints the root of the mean square of their difference, '-' where the shapes differ."""
import ctypes
import sys
import time

import numpy
import tifffile


def gradient(image):
    return numpy.sqrt(sum(part * part for part in numpy.gradient(image)))


def structure_tensor(image, rho):
    from skimage.feature import structure_tensor, structure_tensor_eigenvalues
    return structure_tensor_eigenvalues(structure_tensor(image, sigma=rho, mode="nearest"))


def opencv(image, _, sigma, size):
    import cv2
    return lambda: cv2.GaussianBlur(image, (int(size),) * 2, float(sigma), borderType=cv2.BORDER_REPLICATE)


def vigra(image, name, sigma, other=""):
    import vigra
    image = vigra.taggedView(image, "zyx")
    if name == "structure_tensor":
        return lambda: vigra.filters.structureTensorEigenvalues(image, float(sigma), float(other))
    if name == "gaussian":
        return lambda: vigra.filters.gaussianSmoothing(image, float(sigma), window_size=float(other))
    options = vigra.blockwise.convolutionOptions((64, 64, 64), sigma=float(sigma))
    return lambda: vigra.blockwise.gaussianSmooth(image, options)


def itk(image, _, iterations):
    import SimpleITK
    source = SimpleITK.GetImageFromArray(image)
    smooth = SimpleITK.GradientAnisotropicDiffusionImageFilter()
    smooth.SetTimeStep(0.0625)
    smooth.SetConductanceParameter(1)
    smooth.SetNumberOfIterations(int(iterations))
    return lambda: SimpleITK.GetArrayFromImage(smooth.Execute(source))


def vips(image, sigma, *options):
    """vips_gaussblur, which computes when its result is written to memory."""
    library = ctypes.CDLL("libvips.so.42")
    formats = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "float32"]
    library.vips_image_new_from_memory.restype = ctypes.c_void_p
    library.vips_image_new_from_memory.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 4
    library.vips_image_write_to_memory.restype = ctypes.c_void_p
    library.vips_image_write_to_memory.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t)]
    library.vips_image_get_format.argtypes = [ctypes.c_void_p]
    library.vips_init(b"worker")
    source = library.vips_image_new_from_memory(image.ctypes.data, image.nbytes, image.shape[1], image.shape[0], 1,
                                                formats.index(str(image.dtype)))
    named = []
    if options:
        _, precision, _, least = options
        named = [b"precision", ctypes.c_int(["integer", "float"].index(precision)),
                 b"min_ampl", ctypes.c_double(float(least))]

    def work():
        blurred, size = ctypes.c_void_p(), ctypes.c_size_t()
        # None ends the arguments: a pointer, where 0 would be an int.
        if library.vips_gaussblur(ctypes.c_void_p(source), ctypes.byref(blurred), ctypes.c_double(float(sigma)), *named,
                                  None) != 0:
            sys.exit("vips_gaussblur failed")
        memory = library.vips_image_write_to_memory(blurred, ctypes.byref(size))
        kind = formats[library.vips_image_get_format(blurred)]
        return numpy.frombuffer((ctypes.c_char * size.value).from_address(memory), dtype=kind).reshape(image.shape)

    return work


def make(kind, extents, target):
    shape = [int(n) for n in extents.split("x")]
    image = (numpy.random.default_rng(1).random(shape, dtype="float32") * 250).astype(kind)
    tifffile.imwrite(target, image[0] if shape[0] == 1 else image)


def compare(one, other):
    one, other = (numpy.squeeze(tifffile.imread(name)) for name in (one, other))
    if one.shape != other.shape:
        return "-"
    rows = zip(one.reshape(-1, one.shape[-1]), other.reshape(-1, other.shape[-1]))
    squares = sum(numpy.sum((a.astype("float64") - b) ** 2) for a, b in rows)
    return f"{(squares / one.size) ** 0.5:.3g}"


def main():
    program, asked, source, target = sys.argv[1:]
    if program == "make":
        make(asked, source, target)
        return
    if program == "compare":
        print(compare(source, target))
        return
    name, *values = asked.split()
    image = tifffile.imread(source)
    if program == "scipy":
        from scipy import ndimage
        numbers = [float(value) if "." in value else int(value) for value in values]
        work = lambda: getattr(ndimage, name)(image, *numbers, mode="nearest")
    elif program in ("opencv", "vigra", "itk", "vips"):
        work = globals()[program](image, name, *values)
    elif name == "gradient":
        work = lambda: gradient(image)
    else:
        work = lambda: structure_tensor(image, float(values[0]))
    began = time.monotonic()
    result = work()
    print(time.monotonic() - began)
    tifffile.imwrite(target, numpy.ascontiguousarray(result).astype(image.dtype, copy=False))


main()
