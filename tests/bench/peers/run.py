#!/usr/bin/python3
"""The same rows by volfilter and by what users run today, side by side in the same run: scipy, scikit-image, OpenCV,
VIGRA, G'MIC and libvips as Debian packages them, and ITK as pip's SimpleITK. `make bench-peers` installs them; one
that is missing is skipped.

Every figure is the median of interleaved repetitions: "kernel", the filter alone in a process that has the image in
memory, its result going into memory that was never touched; "file", the whole process from an uncompressed TIFF to
another; "memory", its peak of resident memory over the input; "rms", the difference from volfilter's result in
float32, of noise from 0 to 250. The factors are over volfilter's. Programs do not compute the same: the note has the
radius where it is not that of truncate 4, and what else differs. VIGRA and numpy have boundaries of their own. All use
the threads that they take by themselves."""
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

WEIGHTS = os.path.realpath(os.path.join(HERE, "../../weights"))
PLANE = (1, 4096, 4096)
TABLES = ("5x3", "11x11", "21x21")

# name, (z, y, x), type, volfilter's chain and options, [(program, what it is asked for, note)]
ROWS = [
    *[(f"gaussian sigma {sigma}", (256, 256, 256), "float32", f"gaussian:sigma={sigma}",
       [("scipy", f"gaussian_filter {sigma}", ""), ("vigra", f"gaussian {sigma} 4", ""),
        ("vigra", f"blockwise {sigma}", f"radius {3 * sigma}"), ("itk", f"gaussian {sigma}", "IIR"),
        ("gmic", f"-blur {sigma}", "IIR")])
      for sigma in (1, 2, 4)],
    ("mean radius 4", (256, 256, 256), "float32", "mean:radius=4", [("scipy", "uniform_filter 9", "")]),
    ("laplacian", (256, 256, 256), "float32", "laplacian", [("scipy", "laplace", "")]),
    ("laplacian sigma 2", (256, 256, 256), "float32", "laplacian:sigma=2",
     [("scipy", "gaussian_laplace 2", "derives the Gaussian")]),
    ("dog", (256, 256, 256), "float32", "dog", [("scipy", "dog 1 1.6", ""), ("skimage", "dog 1 1.6", "")]),
    ("unsharp", (128, 256, 256), "float32", "unsharp --boundary reflect", [("skimage", "unsharp_mask 1 1", "")]),
    ("hessian, eigenvalues", (96, 96, 96), "float32", "hessian",
     [("skimage", "hessian 1", "first differences twice; eigenvalues"),
      ("vigra", "hessian 1", "derives the Gaussian; eigenvalues")]),
    ("convolve 5x5x5", (128, 128, 128), "float32", "convolve:5x5x5.txt",
     [("scipy", "convolve 5x5x5.txt", "")]),
    ("median radius 1", (128, 128, 128), "float32", "median", [("scipy", "median_filter 3", "")]),
    ("median radius 2", (96, 96, 96), "float32", "median:radius=2", [("scipy", "median_filter 5", "")]),
    *[(f"2D median radius {radius}", PLANE, kind, f"median:radius={radius}",
       [("scipy", f"median_filter {2 * radius + 1}", ""), ("opencv", f"median {2 * radius + 1}", ""),
        ("vips", f"rank {2 * radius + 1} {2 * radius + 1} {2 * radius * (radius + 1)}", "")])
      for radius in (1, 2) for kind in ("uint8", "uint16", "float32")],
    ("2D median radius 3", PLANE, "uint8", "median:radius=3", [("opencv", "median 7", ""), ("vips", "rank 7 7 24", "")]),
    *[(f"2D mean radius {radius}", PLANE, kind, f"mean:radius={radius}",
       [("scipy", f"uniform_filter {2 * radius + 1}", "" if kind == "float32" else "truncates"),
        ("opencv", f"mean {2 * radius + 1}", "")])
      for radius in (1, 4) for kind in ("uint8", "float32")],
    *[("2D laplacian", PLANE, kind, "laplacian", [("scipy", "laplace", ""), ("opencv", "laplacian", "")])
      for kind in ("uint8", "float32")],
    *[("2D unsharp", PLANE, kind, "unsharp --boundary reflect",
       [("skimage", "unsharp_mask 1 1", "gives floats"), ("opencv", "unsharp 1 9", "")])
      for kind in ("uint8", "float32")],
    *[(f"2D convolve {size}", PLANE, kind, f"convolve:{size}.txt:flip=no",
       [("scipy", f"correlate {size}.txt", ""), ("opencv", f"filter2D {size}.txt", ""),
        ("vips", f"conv {size}.txt.mat", "")])
      for size in TABLES for kind in ("uint8", "float32")],
    ("gradient magnitude", (256, 256, 256), "float32", "gradient",
     [("numpy", "gradient", ""), ("gmic", "-gradient_norm", "")]),
    ("structure tensor, coherence", (96, 96, 96), "float32", "structure-tensor:output=coherence",
     [("skimage", "structure_tensor 2", "no sigma; eigenvalues"),
      ("vigra", "structure_tensor 1 2", "eigenvalues")]),
    ("perona-malik, 10 iterations", (128, 128, 128), "float32", "perona-malik:k=20",
     [("itk", "diffusion 10", "k from the image")]),
    ("uint16 stack, sigma 1", (128, 512, 512), "uint16", "gaussian:sigma=1",
     [("scipy", "gaussian_filter 1", "truncates"), ("vigra", "blockwise 1", "radius 3, gives float32"),
      ("itk", "gaussian 1", "IIR, gives float32"), ("gmic", "-blur 1", "IIR"), ("tiffcp", "", "copies")]),
    ("2D sigma 2", (1, 8192, 8192), "uint8", "gaussian:sigma=2",
     [("scipy", "gaussian_filter 2", "truncates"), ("opencv", "gaussian 2 17", ""),
      ("opencv", "gaussian 2 0", "radius 6"),
      ("vips", "gaussblur 2", "radius 3"),
      ("vips", "gaussblur 2 --precision float --min-ampl 0.001", "radius 7, gives float32"),
      ("tiffcp", "", "copies")]),
    ("2D sigma 2", (1, 8192, 8192), "float32", "gaussian:sigma=2",
     [("scipy", "gaussian_filter 2", ""), ("opencv", "gaussian 2 17", ""),
      ("vips", "gaussblur 2", "radius 3"),
      ("vips", "gaussblur 2 --precision float --min-ampl 0.001", "radius 7")]),
    ("start-up", (1, 64, 64), "uint8", "gaussian",
     [("scipy", "gaussian_filter 1", "truncates"), ("opencv", "gaussian 1 9", ""), ("vips", "gaussblur 1", "radius 1"),
      ("gmic", "-blur 1", "IIR"), ("tiffcp", "", "copies")]),
]


def command(program, asked, source, target, volfilter, chain):
    """The process from file to file."""
    if program == "volfilter":
        return [volfilter, "--backend", "cpu", "--json", "--compress", "none", "-f", *chain.split(),
                source, target]
    if program == "gmic":
        # Pages are images of their own to it, which -append makes a volume of.
        return ["gmic", "-v", "-", source, "-append", "z", *asked.split(), "-o", target]
    if program == "vips":
        name, *words = asked.split()
        return ["vips", name, source, target, *words]
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


def measure(program, asked, source, target, volfilter, chain):
    """(wall seconds, peak bytes, seconds of the filter alone or None) of one run; None when it failed."""
    done = run(command(program, asked, source, target, volfilter, chain))
    if done is None:
        return None
    text = done[2]
    if program == "volfilter":
        return (*done[:2], json.loads(text)["compute_seconds"])
    if program == "vips":
        # The command computes while it reads and writes: the filter alone is the library's, in another process.
        alone = run([*WORKER, program, asked, source, "alone.tif"])
        text = alone[2] if alone else ""
    return (*done[:2], float(text) if text.strip() else None)


def difference(result, exact, note):
    """What the worker says of two files, of the same filter."""
    if "eigenvalues" in note or note == "copies":
        return "-"
    done = run([*WORKER, "compare", "", result, exact])
    return done[2].strip() if done else "-"


def programs_there(wanted):
    """Which of the peers can be run, and a line for each that cannot."""
    there = []
    for program in wanted or ("scipy", "numpy", "skimage", "opencv", "vigra", "itk", "gmic", "vips", "tiffcp"):
        module = {"opencv": "cv2", "itk": "SimpleITK"}.get(program, program)
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


def take_weights():
    """The tables into this folder, and as libvips has them: their size, then the rows."""
    shutil.copy(os.path.join(WEIGHTS, "5x5x5.txt"), ".")
    for table in TABLES:
        path = f"{table}.txt"
        shutil.copy(os.path.join(WEIGHTS, path), ".")
        with open(path, encoding="utf-8") as file:
            rows = [line for line in file if line.strip() and not line.startswith("#")]
        with open(f"{path}.mat", "w", encoding="utf-8") as file:
            file.write(f"{len(rows[0].split())} {len(rows)}\n")
            file.writelines(rows)


def row(name, shape, kind, chain, peers, options, there):
    source, exact = "in.tif", "exact.tif"
    # By another process: what this one holds would count as the peak of all that it starts.
    subprocess.run([*WORKER, "make", kind, "x".join(str(n) for n in shape), source], check=True)
    subprocess.run([options.volfilter, "--quiet", "--backend", "cpu", "--dtype", "float32", "-f", *chain.split(),
                    source, exact], check=True)
    voxels, size = math.prod(shape), os.path.getsize(source)
    runs = [("volfilter", "", "")] + [p for p in peers if p[0] in there]
    taken = [[] for _ in runs]
    for _ in range(options.repeats):
        for i, (program, asked, _) in enumerate(runs):
            done = measure(program, asked, source, f"out{i}.tif", options.volfilter, chain)
            if done is not None:
                taken[i].append(done)
    print(f"\n{name}, {'x'.join(str(n) for n in reversed(shape))} {kind}")
    ours = None
    for i, (program, asked, note) in enumerate(runs):
        if not taken[i]:
            print(f"  {program:10} failed")
            continue
        wall, peak, kernel = zip(*taken[i])
        file_seconds = statistics.median(wall)
        kernels = statistics.median(kernel) if kernel[0] is not None else None
        ours = ours or (kernels, file_seconds)
        print(f"  {program:10} kernel {'-' if kernels is None else f'{kernels / voxels * 1e9:.2f} ns a voxel':>18}"
              f" {'' if kernels is None else f'{kernels / ours[0]:7.1f}x':8}"
              f" file {file_seconds:8.3f} s {file_seconds / ours[1]:7.1f}x   memory {max(peak) / size:5.1f}"
              f"   rms {difference(f'out{i}.tif', exact, note):>6}   {note}")
        sys.stdout.flush()
        os.remove(f"out{i}.tif")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--volfilter", default=os.path.join(HERE, "../../../build/volfilter"))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rows", default="", help="only rows whose name has this in it")
    parser.add_argument("--peers", default="", help="only these programs, parted by commas")
    options = parser.parse_args()
    options.volfilter = os.path.realpath(options.volfilter)
    chosen = [row for row in ROWS if options.rows in f"{row[0]} {row[2]}"]
    if not chosen:
        parser.error(f"no row's name has '{options.rows}' in it; they are: " +
                     ", ".join(dict.fromkeys(row[0] for row in ROWS)))
    there = programs_there(options.peers.split(",") if options.peers else [])
    if not programs_there(["numpy"]):
        sys.exit("numpy and tifffile write the images: apt-get install python3-skimage")
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        take_weights()
        for name, shape, kind, chain, peers in chosen:
            row(name, shape, kind, chain, peers, options, there)
        os.chdir("/")


main()
