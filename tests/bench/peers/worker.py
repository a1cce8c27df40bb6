#!/usr/bin/python3
"""worker.py PROGRAM FILTER IN OUT: filters a file with a library and prints the seconds of the filter alone: from the
image in memory to a result in memory that it asks for.
worker.py make TYPE ZxYxX OUT: writes an image of noise.
worker.py compare '' ONE OTHER: prints the root of the mean square of their difference, '-' where the shapes differ."""
import ctypes
import re
import sys
import time

import numpy
import tifffile


def gradient(image):
    return numpy.sqrt(sum(part * part for part in numpy.gradient(image)))


def weights(path):
    """volfilter's own: rows, planes parted by blank lines."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"(?m)^#.*\n", "", file.read())
    planes = [[[float(n) for n in line.split()] for line in plane.split("\n")]
              for plane in re.split(r"\n\s*\n", text.strip())]
    return numpy.array(planes[0] if len(planes) == 1 else planes)


def value_of(word):
    return weights(word) if word.endswith(".txt") else float(word) if "." in word else int(word)


def scipy(image, name, *words):
    from scipy import ndimage
    values = [value_of(word) for word in words]
    signed = name in ("laplace", "gaussian_laplace", "correlate", "convolve")
    wanted = {"output": "float32"} if signed else {}
    if name == "dog":
        return lambda: (ndimage.gaussian_filter(image, values[0], mode="nearest") -
                        ndimage.gaussian_filter(image, values[1], mode="nearest"))
    return lambda: getattr(ndimage, name)(image, *values, mode="nearest", **wanted)


def skimage(image, name, *words):
    from skimage import feature, filters
    values = [value_of(word) for word in words]
    return {
        "structure_tensor": lambda: feature.structure_tensor_eigenvalues(
            feature.structure_tensor(image, sigma=values[0], mode="nearest")),
        "hessian": lambda: feature.hessian_matrix_eigvals(
            feature.hessian_matrix(image, sigma=values[0], mode="nearest", order="rc")),
        "unsharp_mask": lambda: filters.unsharp_mask(image, *values, preserve_range=True),
        "dog": lambda: filters.difference_of_gaussians(image, *values),
    }[name]


def opencv(image, name, *words):
    import cv2
    values = [value_of(word) for word in words]
    edge = {"borderType": cv2.BORDER_REPLICATE}

    def unsharp(sigma, size):
        smooth = cv2.GaussianBlur(image, (size, size), sigma, borderType=cv2.BORDER_REFLECT)
        return cv2.addWeighted(image, 2, smooth, -1, 0)

    return {
        "gaussian": lambda: cv2.GaussianBlur(image, (values[1],) * 2, values[0], **edge),
        "median": lambda: cv2.medianBlur(image, values[0]),
        "mean": lambda: cv2.blur(image, (values[0],) * 2, **edge),
        "laplacian": lambda: cv2.Laplacian(image, cv2.CV_32F, ksize=1, **edge),
        "filter2D": lambda: cv2.filter2D(image, cv2.CV_32F, values[0], **edge),
        "unsharp": lambda: unsharp(*values),
    }[name]


def vigra(image, name, sigma, other=""):
    import vigra
    image = vigra.taggedView(image, "zyx")
    if name == "structure_tensor":
        return lambda: vigra.filters.structureTensorEigenvalues(image, float(sigma), float(other))
    if name == "hessian":
        return lambda: vigra.filters.hessianOfGaussianEigenvalues(image, float(sigma))
    if name == "gaussian":
        return lambda: vigra.filters.gaussianSmoothing(image, float(sigma), window_size=float(other))
    options = vigra.blockwise.convolutionOptions((64, 64, 64), sigma=float(sigma))
    return lambda: vigra.blockwise.gaussianSmooth(image.astype("float32", copy=False), options)


def itk(image, name, value):
    import SimpleITK
    source = SimpleITK.GetImageFromArray(image)
    if name == "gaussian":
        smooth = SimpleITK.SmoothingRecursiveGaussianImageFilter()
        smooth.SetSigma(float(value))
    else:
        smooth = SimpleITK.GradientAnisotropicDiffusionImageFilter()
        smooth.SetTimeStep(0.0625)
        smooth.SetConductanceParameter(1)
        smooth.SetNumberOfIterations(int(value))
    return lambda: SimpleITK.GetArrayFromImage(smooth.Execute(source))


def vips(image, name, *words):
    """vips_NAME, which computes when its result is written to memory."""
    library = ctypes.CDLL("libvips.so.42")
    formats = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "complex64", "float64"]
    library.vips_image_new_from_memory.restype = ctypes.c_void_p
    library.vips_image_new_from_memory.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 4
    library.vips_image_write_to_memory.restype = ctypes.c_void_p
    library.vips_image_write_to_memory.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t)]
    library.vips_image_get_format.argtypes = [ctypes.c_void_p]
    library.vips_init(b"worker")

    def image_of(array):
        return ctypes.c_void_p(library.vips_image_new_from_memory(
            array.ctypes.data, array.nbytes, array.shape[1], array.shape[0], 1, formats.index(str(array.dtype))))

    source, table = image_of(image), None
    if name == "conv":
        table = weights(words[0][:-len(".mat")])
        values = [image_of(table)]
    elif name == "rank":
        values = [ctypes.c_int(int(word)) for word in words]
    else:
        values = [ctypes.c_double(float(words[0]))]
        if words[1:]:
            _, precision, _, least = words[1:]
            values += [b"precision", ctypes.c_int(["integer", "float"].index(precision)),
                       b"min_ampl", ctypes.c_double(float(least))]

    def work():
        result, size = ctypes.c_void_p(), ctypes.c_size_t()
        # None ends the arguments: a pointer, where 0 would be an int.
        if getattr(library, f"vips_{name}")(source, ctypes.byref(result), *values, None) != 0:
            sys.exit(f"vips_{name} failed")
        memory = library.vips_image_write_to_memory(result, ctypes.byref(size))
        kind = formats[library.vips_image_get_format(result)]
        return numpy.frombuffer((ctypes.c_char * size.value).from_address(memory), dtype=kind).reshape(image.shape)

    work.table = table  # which the library reads where it is
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
    name, *words = asked.split()
    image = tifffile.imread(source)
    if program == "numpy":
        work = lambda: gradient(image)
    else:
        work = globals()[program](image, name, *words)
    began = time.monotonic()
    result = work()
    print(time.monotonic() - began)
    if result.dtype == "float64":
        result = result.astype("float32")
    tifffile.imwrite(target, numpy.ascontiguousarray(result))


main()
