#!/usr/bin/python3
"""Rebuild the images of this folder from Debian packages.

    /usr/bin/python3 make_testdata.py            # write them here
    /usr/bin/python3 make_testdata.py --check    # compare pixels with the files here, write nothing

Debian 12: apt-get install python3-numpy python3-pil python3-tifffile
The packages are fetched with apt-get download and unpacked with dpkg-deb into a temporary folder;
nothing is installed. README.md names origin and licence of each.
"""
import glob
import gzip
import hashlib
import os
import shutil
import struct
import subprocess
import sys
import tempfile

import numpy as np
import tifffile
from PIL import Image

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = ["insighttoolkit5-examples", "python3-skimage", "python3-nibabel"]
ITK = "insighttoolkit5-examples/usr/share/doc/insighttoolkit5-examples/examples/Data/"
SKI = "python3-skimage/usr/lib/python3/dist-packages/skimage/data/"
NIB = "python3-nibabel/usr/lib/python3/dist-packages/nibabel/tests/data/"
SOURCES = {  # path: SHA-256
    ITK + "KmeansTest_T1UCharRaw.nii.gz":
        "e0e5975587f3f7916804bdd317c493cdb99cdb3703bf2671d458528f62510327",
    NIB + "example4d.nii.gz":
        "42097dfbab9d2a036b41ae5c97a359591cf2cf5c3f8dc6ca6455c0b8a7f22696",
    SKI + "cell.png":
        "8d23a7fb81f7cc877cd09f330357fc7f595651306e84e17252f6e0a1b3f61515",
    SKI + "microaneurysms.png":
        "a1e1be59aa447f8ce082f7fa809997ab369a2b137cb6c4202abc647c7ccf6456",
    SKI + "retina.jpg":
        "38a07f36f27f095e818aea7b96d34202c05176d30253c66733f2e00379e9e0e6",
}


def fetch(folder):
    subprocess.run(["apt-get", "download", "-q"] + PACKAGES, cwd=folder, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for p in PACKAGES:
        deb, = glob.glob(os.path.join(folder, p + "_*.deb"))
        subprocess.run(["dpkg-deb", "-x", deb, os.path.join(folder, p)], check=True)
    for path, want in SOURCES.items():
        got = hashlib.sha256(open(os.path.join(folder, path), "rb").read()).hexdigest()
        if got != want:
            sys.exit("%s: SHA-256 is %s, not %s: another package version" % (path, got, want))


def nifti(path):
    """An int16 NIfTI-1 file as an array with x last, and its voxel size (x, y, z)."""
    d = gzip.open(path).read()
    assert d[344:347] == b"n+1" and struct.unpack("<h", d[70:72]) == (4,)
    dim = struct.unpack("<8h", d[40:56])
    offset = int(struct.unpack("<f", d[108:112])[0])
    shape = dim[1:dim[0] + 1][::-1]
    v = np.frombuffer(d, "<i2", int(np.prod(shape)), offset).reshape(shape)
    return v, struct.unpack("<3f", d[80:92])


def write_tiff(path, data, byteorder="<", resolution=None, description=None, **kw):
    """One IFD a plane; only the first has the ImageDescription, as ImageJ writes it."""
    if resolution:
        kw.update(resolution=resolution, resolutionunit="NONE")
    with tifffile.TiffWriter(path, byteorder=byteorder) as t:
        t.write(data, description=description, metadata=None, software=False, **kw)


def imagej(planes, axes, v, spacing, extra=""):
    return ("ImageJ=1.54f\nimages=%d\n%sunit=mm\nspacing=%s\n%sloop=false\nmin=%.1f\nmax=%.1f\n"
            % (planes, axes, spacing, extra, v.min(), v.max()))


def build(src, out):
    mri, size = nifti(src + ITK + "KmeansTest_T1UCharRaw.nii.gz")
    assert mri.shape == (62, 128, 128) and size == (2, 2, 3) and mri.min() >= 0
    write_tiff(out + "head-mri.tif", mri.astype(np.uint16), ">", (0.5, 0.5),
               imagej(62, "slices=62\n", mri, "3.0"), photometric="minisblack")
    write_tiff(out + "head-mri-plain.tif", mri, photometric="minisblack", compression="zlib",
               compressionargs={"level": 9}, predictor=True, rowsperstrip=128)

    epi, size = nifti(src + NIB + "example4d.nii.gz")
    assert epi.shape == (2, 24, 96, 128) and abs(size[2] - 2.2) < 1e-6 and epi.min() >= 0
    epi = epi.astype(np.uint16)
    write_tiff(out + "epi-time.tif", epi.reshape(48, 96, 128), ">", (0.5, 0.5),
               imagej(48, "slices=24\nframes=2\nhyperstack=true\nmode=grayscale\n", epi, "2.2",
                      "finterval=2.0\n"),
               photometric="minisblack", compression="zlib", compressionargs={"level": 9},
               predictor=False, rowsperstrip=96)
    # 12.7 dpi is 500 pixels a metre: pHYs of 2 mm
    Image.fromarray(epi[0, 12]).save(out + "epi-slice-16bit.png", dpi=(12.7, 12.7), optimize=True)

    for name in ("cell.png", "microaneurysms.png"):
        shutil.copyfile(src + SKI + name, out + name)

    retina = np.asarray(Image.open(src + SKI + "retina.jpg"))[560:816, 128:384]
    write_tiff(out + "retina-rgb.tif", retina, photometric="rgb", compression="zlib",
               compressionargs={"level": 9}, predictor=True, rowsperstrip=64)
    Image.fromarray(retina[:128, 64:192]).save(out + "retina-rgb.png", optimize=True)


def pixels(path):
    if path.endswith(".tif"):
        return tifffile.imread(path)
    return np.asarray(Image.open(path))


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as tmp:
        os.chmod(tmp, 0o755)
        fetch(tmp)
        out = os.path.join(tmp, "out")
        os.mkdir(out)
        build(tmp + "/", out + "/")
        for name in sorted(os.listdir(out)):
            new, old = os.path.join(out, name), os.path.join(HERE, name)
            if check:
                a, b = pixels(new), pixels(old)
                if a.dtype.newbyteorder("=") != b.dtype.newbyteorder("=") or not np.array_equal(a, b):
                    sys.exit("%s differs" % name)
                same = open(new, "rb").read() == open(old, "rb").read()
                print("%-22s same %s" % (name, "bytes" if same else "pixels"))
            else:
                shutil.copyfile(new, old)
                print("%-22s %8d bytes" % (name, os.path.getsize(old)))


if __name__ == "__main__":
    main()
