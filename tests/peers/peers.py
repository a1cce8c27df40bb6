"""Round trips: tifffile and mrcfile write a file, volfilter copies it (a Gaussian of width 0), they read it.

A copy must have the same numbers, axes and metadata; a derived result the right channels and their names. ImageJ and
Bio-Formats, where they are there, must read the same of copies as of what was copied. scipy and scikit-image must
compute what the manual, under OTHER PROGRAMS, says that they do.
"""
import json
import os
import subprocess
import sys

import mrcfile
import numpy
import scipy.ndimage
import skimage.feature
import skimage.filters
import tifffile

VOLFILTER = os.environ["VOLFILTER"]
random = numpy.random.default_rng(7)
failures = 0
checks = 0


def check(condition, what):
    global failures, checks
    checks += 1
    if not condition:
        failures += 1
        print(f"FAILED {what}")


def run(*arguments):
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{' '.join(arguments)}: {done.stderr.strip()}")
    return done


def volfilter(source, target, *options, chain="gaussian:sigma=0"):
    done = run(VOLFILTER, *options, "-f", chain, source, target)
    check(done.returncode == 0, f"{source} to {target}")
    return done


def info(name):
    return json.loads(run(VOLFILTER, "info", "--json", name).stdout)


def pattern(shape, dtype):
    if numpy.issubdtype(dtype, numpy.floating):
        return (random.standard_normal(shape) * 100).astype(dtype)
    limits = numpy.iinfo(dtype)
    return random.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def tiff_is_sound(name):
    shown = run("tiffinfo", "-D", name)
    check(shown.returncode == 0, f"tiffinfo reads {name}")
    alarms = [line for line in shown.stderr.splitlines() if "Unknown field" not in line]
    check(not alarms, f"tiffinfo of {name} warns: {alarms[:2]}")


def mrc_is_valid(name):
    with open("report", "w") as report:
        valid = mrcfile.validate(name, print_file=report)
    check(valid, f"{name} is valid: {open('report').read()}")


def plain_tiffs():
    layouts = [
        {},
        {"tile": (16, 32)},
        {"compression": "zlib", "predictor": True},
        {"compression": "zlib", "rowsperstrip": 3},
        {"compression": "zstd", "tile": (32, 16)},
        {"compression": "lzw"},
        {"compression": "packbits"},
        {"bigtiff": True},
        {"byteorder": ">"},
        {"byteorder": ">", "compression": "zlib", "predictor": True},
    ]
    for dtype in ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "float64"):
        data = pattern((4, 45, 70), dtype)
        for number, layout in enumerate(layouts):
            if layout.get("predictor") and dtype == "float64":
                continue
            name, copy = f"{dtype}-{number}.tif", f"{dtype}-{number}-copy.tif"
            tifffile.imwrite(name, data, photometric="minisblack", metadata=None, **layout)
            volfilter(name, copy)
            check(numpy.array_equal(tifffile.imread(copy), data), f"numbers of {copy}")
            if "compression" not in layout:
                check(numpy.array_equal(tifffile.memmap(copy, mode="r"), data), f"{copy} mapped into memory")
            tiff_is_sound(copy)
            check(run("tiffcmp", name, copy).returncode in (0, 1), f"tiffcmp reads {copy}")
    half = pattern((30, 40), "float16")
    tifffile.imwrite("half.tif", half, photometric="minisblack", metadata=None)
    volfilter("half.tif", "half-copy.tif")
    check(numpy.array_equal(tifffile.imread("half-copy.tif"), half.astype("float32")), "numbers of halves")
    colours = pattern((50, 60, 3), "uint8")
    for planar in ("contig", "separate"):
        stored = colours if planar == "contig" else numpy.moveaxis(colours, 2, 0).copy()
        tifffile.imwrite("rgb.tif", stored, photometric="rgb", planarconfig=planar, metadata=None)
        volfilter("rgb.tif", "rgb-copy.tif")
        check(numpy.array_equal(tifffile.imread("rgb-copy.tif"), colours), f"colours, {planar}")
    twelve = pattern((3, 33, 47), "uint16") >> 4
    with tifffile.TiffWriter("twelve.tif") as file:
        for page in twelve:
            file.write(page, bitspersample=12, compression=None, photometric="minisblack", metadata=None)
    check(info("twelve.tif")["packed_bits"] == 12, "12 bits are packed")
    volfilter("twelve.tif", "twelve-copy.tif")
    check(numpy.array_equal(tifffile.imread("twelve-copy.tif"), twelve), "12 bits")


def imagej():
    ramp = numpy.tile(numpy.arange(256, dtype="uint8"), (3, 1))
    for dtype in ("uint8", "uint16", "float32"):
        data = pattern((2, 3, 4, 20, 30), dtype)
        metadata = {
            "axes": "TZCYX", "spacing": 0.7, "unit": "um", "finterval": 1.5, "mode": "composite",
            "LUTs": [ramp] * 4, "Ranges": [0.0, 99.0] * 4, "Labels": [f"page {i}" for i in range(24)],
            "ROI": b"Iout-a-selection", "Overlays": [b"Iout-an-overlay"],
        }
        tifffile.imwrite("ij.tif", data, imagej=True, resolution=(4, 4), metadata=metadata)
        volfilter("ij.tif", "ij-copy.tif")
        tiff_is_sound("ij-copy.tif")
        with tifffile.TiffFile("ij.tif") as before, tifffile.TiffFile("ij-copy.tif") as after:
            check(numpy.array_equal(after.asarray(), data), f"numbers of ij-copy.tif, {dtype}")
            check(after.series[0].axes == before.series[0].axes, "axes of ij-copy.tif")
            for key, value in before.imagej_metadata.items():
                check(numpy.array_equal(after.imagej_metadata.get(key), value), f"ij-copy.tif keeps {key}")
        said = volfilter("ij.tif", "ij-tensor.tif", chain="structure-tensor").stderr
        check("not kept: " in said and said.count("\n") == 1, f"one warning: {said}")
        with tifffile.TiffFile("ij-tensor.tif") as after:
            check(after.series[0].shape == (2, 3, 24, 20, 30), f"tensor: {after.series[0].shape}")
            labels = after.imagej_metadata["Labels"]
            parts = [f"channel {c}: {part}" for c in range(1, 5) for part in ("xx", "xy", "xz", "yy", "yz", "zz")]
            check(labels == parts * 6, f"labels {labels[:6]}")
            check(after.imagej_metadata["spacing"] == 0.7, "spacing of ij-tensor.tif")
            check(after.imagej_metadata["ROI"] == b"Iout-a-selection", "selection of ij-tensor.tif")


def ome():
    metadata = {
        "axes": "TCZYX", "PhysicalSizeX": 0.25, "PhysicalSizeXUnit": "\u00b5m", "PhysicalSizeY": 0.25,
        "PhysicalSizeYUnit": "\u00b5m", "PhysicalSizeZ": 0.8, "PhysicalSizeZUnit": "\u00b5m",
        "Channel": {"Name": ["one", "two"]}, "Plane": {"PositionX": [1.0] * 12},
    }
    data = pattern((2, 2, 3, 24, 36), "uint16")
    for options in ({}, {"bigtiff": True, "tile": (16, 16), "compression": "zlib"}, {"byteorder": ">"}):
        tifffile.imwrite("in.ome.tif", data, photometric="minisblack", metadata=metadata, **options)
        volfilter("in.ome.tif", "copy.ome.tif")
        tiff_is_sound("copy.ome.tif")
        with tifffile.TiffFile("copy.ome.tif") as file:
            series = file.series[0]
            back = series.asarray()
            check(file.is_ome and series.kind == "ome", "copy.ome.tif is OME-TIFF")
            check(series.axes == "TCZYX" and numpy.array_equal(back, data), "numbers of copy.ome.tif")
            pages = data.reshape(-1, 24, 36)
            check(all(numpy.array_equal(p.asarray(), q) for p, q in zip(file.pages, pages)), "order of pages")
            xml = tifffile.xml2dict(file.ome_metadata)["OME"]["Image"]["Pixels"]
            check(xml["PhysicalSizeZ"] == 0.8 and xml["PhysicalSizeXUnit"] == "\u00b5m", "sizes of a copy")
            check([c["Name"] for c in xml["Channel"]] == ["one", "two"], "channels of copy.ome.tif")
            check(len(xml["Plane"]) == 12, "positions of copy.ome.tif")
        volfilter("in.ome.tif", "tensor.ome.tif", chain="gradient:output=components")
        with tifffile.TiffFile("tensor.ome.tif") as file:
            xml = tifffile.xml2dict(file.ome_metadata)["OME"]["Image"]["Pixels"]
            check(xml["SizeC"] == 6 and xml["Type"] == "float", "tensor.ome.tif")
            names = [c["Name"] for c in xml["Channel"]]
            check(names[:3] == ["one x", "one y", "one z"], f"names of tensor.ome.tif: {names}")
            check(file.series[0].dtype == "float32" and file.series[0].size == 6 * data.size // 2, "planes")
    with tifffile.TiffWriter("pyramid.ome.tif") as file:
        file.write(data[0, 0], subifds=1, photometric="minisblack", metadata={"axes": "ZYX"})
        file.write(data[0, 0, :, ::2, ::2], subfiletype=1, photometric="minisblack", metadata=None)
    check("SubIFDs" in (info("pyramid.ome.tif")["note"] or ""), "note of pyramid.ome.tif")
    check(info("pyramid.ome.tif")["nz"] == 3, "planes of pyramid.ome.tif")


def mrc():
    for dtype, mode in (("int8", 0), ("int16", 1), ("float32", 2), ("uint16", 6), ("float16", 12)):
        data = pattern((5, 12, 17), dtype)
        if dtype == "float16":
            data /= 50  # mrcfile's own check of the deviation overflows otherwise
        with mrcfile.new("in.mrc", data=data, overwrite=True) as file:
            file.voxel_size = (1.5, 1.5, 3.0)
            file.header.origin = (1, 2, 3)
            file.set_extended_header(numpy.frombuffer(bytes(range(160)), "V1"))
            file.header.exttyp = "MRCO"
            file.add_label("made by a peer")
        volfilter("in.mrc", "copy.mrc")
        with mrcfile.open("copy.mrc") as file:
            check(file.header.mode == mode and numpy.array_equal(file.data, data), f"numbers of {dtype}")
            check(abs(file.voxel_size.z - 3) < 1e-5 and abs(file.voxel_size.x - 1.5) < 1e-5, "voxel size")
            check(file.header.origin.z == 3, "origin")
            check(file.extended_header.tobytes() == bytes(range(160)), "extended header")
            check("made by a peer" in file.get_labels(), f"labels {file.get_labels()}")
            check(abs(float(file.header.dmean) - data.astype("f8").mean()) < 1e-2, "mean")
            check(abs(float(file.header.rms) - data.astype("f8").std()) < 1e-2, "rms")
        mrc_is_valid("copy.mrc")
        volfilter("in.mrc", "smooth.mrc", chain="gaussian")
        mrc_is_valid("smooth.mrc")
    stack = pattern((4, 3, 10, 11), "float32")
    mrcfile.write("volumes.mrc", stack, overwrite=True)
    volfilter("volumes.mrc", "volumes-copy.mrc")
    with mrcfile.open("volumes-copy.mrc") as file:
        check(file.is_volume_stack() and numpy.array_equal(file.data, stack), "stack of volumes")
    volfilter("volumes.mrc", "volumes.tif")
    check(tifffile.TiffFile("volumes.tif").series[0].shape == (4, 3, 10, 11), "volumes.tif")
    volfilter("volumes.tif", "volumes-back.mrc")
    check(numpy.array_equal(mrcfile.read("volumes-back.mrc"), stack), "volumes-back.mrc")
    mrc_is_valid("volumes-back.mrc")


def planes(reader, jar, names):
    """What a reader of microscopists says of files: their sizes, and a number for each plane."""
    program = os.path.join(os.path.dirname(os.path.realpath(__file__)), f"{reader}Planes.java")
    said = run("java", "-Djava.awt.headless=true", "-cp", jar, program, *names).stdout
    found = [line.split("\t") for line in said.splitlines() if line.count("\t") == 2]
    return {name: (sizes, [float(number) for number in numbers.split()]) for name, sizes, numbers in found}


def microscopists():
    readers = {"ImageJ": os.environ.get("IMAGEJ"), "BioFormats": os.environ.get("BIOFORMATS")}
    made = {reader: {} for reader in readers}  # name: data, in the order t, z, c, y, x
    kinds = {
        "ij": {"imagej": True, "metadata": {"axes": "TZCYX"}},
        "ome": {"metadata": {"axes": "TZCYX", "PhysicalSizeX": 0.5, "PhysicalSizeXUnit": "\u00b5m"}},
        "plain": {"metadata": None},
    }
    for kind, metadata in kinds.items():
        for dtype in ("uint8", "uint16", "float32"):
            data = pattern((2, 3, 2, 20, 30), dtype)
            source = f"micro-{dtype}.{kind}.tif"
            tifffile.imwrite(source, data, photometric="minisblack", **metadata)
            data = data if kind != "plain" else data.reshape((12, 1, 1, 20, 30))
            ways = [("none",), ("lzw",), ("deflate",), ("none", "--memory", "40M")]
            for number, way in enumerate(ways):
                copy = f"micro-{dtype}-{number}.{kind}.tif"
                volfilter(source, copy, "--backend", "cpu", "--compress", *way)
                for reader in readers:
                    if reader != "ImageJ" or kind != "ome":
                        made[reader][copy] = data
            if kind != "plain":
                derived = f"micro-{dtype}-x.{kind}.tif"
                volfilter(source, derived, "--compress", "deflate", chain="gradient:output=x")
                back = tifffile.imread(derived).reshape(data.shape)
                for reader in readers:
                    if reader != "ImageJ" or kind != "ome":
                        made[reader][derived] = back
    weights = numpy.arange(20 * 30) % 97 + 1.0
    for reader, jar in readers.items():
        if not jar:
            print(f"without {reader}: there is no java, or no jar of it")
            continue
        found = planes(reader, jar, made[reader])
        for name, data in made[reader].items():
            sizes, numbers = found.get(name, ("", []))
            t, z, c = data.shape[:3]
            # A plain file's pages have no axis of their own.
            known = sizes == f"30 20 {c} {z} {t}" or (".plain" in name and sizes == f"30 20 {c} {t} {z}")
            check(known, f"{reader} finds {name} to be of {sizes or 'no size'}")
            sums = data.reshape((-1, 20 * 30)).astype("float64") @ weights
            good = len(numbers) == len(sums) and numpy.allclose(numbers, sums, rtol=1e-5, atol=1e-2)
            check(good, f"numbers of {name} in {reader}")


def translations():
    stack = pattern((9, 31, 37), "float32")
    tifffile.imwrite("stack.tif", stack)
    tifffile.imwrite("image.tif", stack[4])
    wide, image = stack.astype("f8"), stack[4].astype("f8")
    ndimage, filters = scipy.ndimage, skimage.filters
    corners = skimage.feature.structure_tensor  # which derives by ndimage.sobel
    along = ndimage.sobel(image, axis=1, mode="reflect")
    table = [
        ("stack", "gaussian:sigma=3x2x1", ndimage.gaussian_filter(wide, (1, 2, 3)), "reflect"),
        ("stack", "mean:2", ndimage.uniform_filter(wide, 5), "reflect"),
        ("stack", "median:2", ndimage.median_filter(wide, 5), "reflect"),
        ("stack", "laplacian", ndimage.laplace(wide), "reflect"),
        ("image", "gradient:method=sobel:output=x", along / 8, "reflect"),
        ("stack", "gradient:method=sobel:output=x", ndimage.sobel(wide, axis=2) / 32, "reflect"),
        ("stack", "gaussian:sigma=2", filters.gaussian(wide, 2, preserve_range=True), "nearest"),
        ("stack", "unsharp:sigma=2:amount=1.5", filters.unsharp_mask(wide, 2, 1.5, preserve_range=True), "reflect"),
        ("image", "gradient:method=sobel", filters.sobel(image) * 2**0.5 / 2, "reflect"),
        ("image", "gradient:method=scharr", filters.scharr(image) * 2**0.5 / 2, "reflect"),
        ("stack", "gradient:method=sobel", filters.sobel(wide) * 3**0.5 / 2, "reflect"),
        ("stack", "gradient:method=scharr", filters.scharr(wide) * 3**0.5 / 2, "reflect"),
        ("stack", "laplacian", -filters.laplace(wide), "reflect"),
        ("image", "dog:sigma=1:sigma2=3", filters.difference_of_gaussians(image, 1, 3), "nearest"),
    ]
    for name, chain, expected, boundary in table:
        volfilter(f"{name}.tif", "translated.tif", "--boundary", boundary, chain=chain)
        error = abs(tifffile.imread("translated.tif") - expected).max() / abs(expected).max()
        check(error < 1e-6, f"{chain} of the {name} differs by {error:g} of the largest value")
    smoothed = ndimage.gaussian_filter(along**2, 2, mode="reflect")
    check(numpy.allclose(corners(image, 2, mode="reflect", order="xy")[0], smoothed), "structure_tensor")
    # The standard's images, in a cell of one section.
    mrcfile.write("images.mrc", stack, overwrite=True)
    with mrcfile.open("images.mrc", "r+") as file:
        file.set_image_stack()
    check(info("images.mrc")["image_stack"], "images.mrc is a stack of images")
    volfilter("images.mrc", "images-smooth.mrc", "--slices", chain="gaussian")
    with mrcfile.open("images-smooth.mrc") as file:
        check(file.is_image_stack() and file.header.mz == 1, "images-smooth.mrc is a stack of images")
    mrc_is_valid("images-smooth.mrc")


plain_tiffs()
imagej()
microscopists()
ome()
mrc()
translations()
print(f"{checks - failures} passed, {failures} failed")
sys.exit(failures != 0)
