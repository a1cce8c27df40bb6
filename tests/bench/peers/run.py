#!/usr/bin/python3
"""The same rows by volfilter and by what users run today, side by side in the same run: scipy, scikit-image, OpenCV,
G'MIC and libvips as Debian packages them. `make bench-peers` installs them; one that is missing is skipped.

Every figure is the median of interleaved repetitions: "kernel", the filter alone in a process that has the image in
memory, its result going into memory that was never touched; "file", the whole process from an uncompressed TIFF to
another; "memory", its peak of resident memory over the input. The factors are over volfilter's. Programs do not
compute the same: the note has the radius where it is not that of truncate 4, and what else differs."""
import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
WORKER = [sys.executable, os.path.join(HERE, "worker.py")]

# name, (z, y, x), type, volfilter's chain, {program: what it is asked for, note}
ROWS = [
    ("gaussian sigma 1", (256, 256, 256), "float32", "gaussian:sigma=1",
     {"scipy": ("gaussian 1", ""), "gmic": ("-blur 1", "IIR")}),
    ("gaussian sigma 2", (256, 256, 256), "float32", "gaussian:sigma=2",
     {"scipy": ("gaussian 2", ""), "gmic": ("-blur 2", "IIR")}),
    ("gaussian sigma 4", (256, 256, 256), "float32", "gaussian:sigma=4",
     {"scipy": ("gaussian 4", ""), "gmic": ("-blur 4", "IIR")}),
    ("gradient magnitude", (256, 256, 256), "float32", "gradient",
     {"numpy": ("gradient", ""), "gmic": ("-gradient_norm", "")}),
    ("structure tensor, coherence", (96, 96, 96), "float32", "structure-tensor:output=coherence",
     {"skimage": ("structure_tensor 2", "no sigma; eigenvalues")}),
    ("uint16 stack, sigma 1", (128, 512, 512), "uint16", "gaussian:sigma=1",
     {"scipy": ("gaussian 1", "truncates"), "gmic": ("-blur 1", "IIR"), "tiffcp": ("", "copies")}),
    ("2D sigma 2", (1, 8192, 8192), "uint8", "gaussian:sigma=2",
     {"scipy": ("gaussian 2", "truncates"), "opencv": ("gaussian 2 17", ""), "vips": ("gaussblur 2", "radius 3"),
      "tiffcp": ("", "copies")}),
    ("2D sigma 2", (1, 8192, 8192), "float32", "gaussian:sigma=2",
     {"scipy": ("gaussian 2", ""), "opencv": ("gaussian 2 17", ""), "vips": ("gaussblur 2", "radius 3")}),
]


def command(program, asked, source, target, volfilter, chain):
    """The process from file to file."""
    if program == "volfilter":
        return [volfilter, "--backend", "cpu", "--json", "--compress", "none", "-f", chain, source, target]
    if program == "gmic":
        return ["gmic", "-v", "-", source, *asked.split(), "-o", target]
    if program == "vips":
        return ["vips", *asked.split()[:1], source, target, *asked.split()[1:]]
    if program == "tiffcp":
        return ["tiffcp", "-c", "none", source, target]
    return [*WORKER, program, asked, source, target]


def run(arguments):
    """(wall seconds, peak bytes, standard output); None when it failed."""
    began = time.monotonic()
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
        text = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    return (time.monotonic() - began, usage.ru_maxrss * 1024, text) if child.returncode == 0 else None


def kernel_seconds(program, text):
    """What the process says of itself."""
    if program == "volfilter":
        return json.loads(text)["compute_seconds"]
    return float(text) if text.strip() else None


def programs_there():
    """Which of the peers can be run, and a line for each that cannot."""
    there = []
    for program in ("scipy", "numpy", "skimage", "opencv", "gmic", "vips", "tiffcp"):
        module = {"opencv": "cv2"}.get(program, program)
        if program in ("gmic", "vips", "tiffcp"):
            good = shutil.which(program) is not None
        else:
            good = subprocess.run([sys.executable, "-c", f"import tifffile, {module}"], stderr=subprocess.DEVNULL,
                                  check=False).returncode == 0
        if good:
            there.append(program)
        else:
            print(f"{program} is not there: skipped", flush=True)
    return there


def row(name, shape, kind, chain, peers, options, there):
    source, target = "in.tif", "out.tif"
    # By another process: what this one holds would count as the peak of all that it starts.
    subprocess.run([*WORKER, "make", kind, "x".join(str(n) for n in shape), source], check=True)
    voxels, size = math.prod(shape), os.path.getsize(source)
    programs = ["volfilter"] + [p for p in peers if p in there]
    taken = {p: [] for p in programs}
    for _ in range(options.repeats):
        for program in programs:
            asked = peers[program][0] if program != "volfilter" else ""
            done = run(command(program, asked, source, target, options.volfilter, chain))
            if done is not None:
                taken[program].append((done[0], done[1], kernel_seconds(program, done[2])))
    print(f"\n{name}, {'x'.join(str(n) for n in reversed(shape))} {kind}")
    ours = None
    for program in programs:
        if not taken[program]:
            print(f"  {program:10} failed")
            continue
        wall, peak, kernel = zip(*taken[program])
        file_seconds = statistics.median(wall)
        kernels = statistics.median(kernel) if kernel[0] is not None else None
        ours = ours or (kernels, file_seconds)
        print(f"  {program:10} kernel {'-' if kernels is None else f'{kernels / voxels * 1e9:.2f} ns a voxel':>18}"
              f" {'' if kernels is None else f'{kernels / ours[0]:7.1f}x':8}"
              f" file {file_seconds:8.3f} s {file_seconds / ours[1]:7.1f}x   memory {max(peak) / size:5.1f}"
              f"   {peers[program][1] if program != 'volfilter' else ''}")
        sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--volfilter", default=os.path.join(HERE, "../../../build/volfilter"))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rows", default="", help="only rows whose name has this in it")
    options = parser.parse_args()
    options.volfilter = os.path.realpath(options.volfilter)
    there = programs_there()
    if "numpy" not in there:
        sys.exit("numpy and tifffile write the images: apt-get install python3-skimage")
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        for name, shape, kind, chain, peers in ROWS:
            if options.rows in f"{name} {kind}":
                row(name, shape, kind, chain, peers, options, there)
        os.chdir("/")


main()
