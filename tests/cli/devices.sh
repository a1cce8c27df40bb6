# volfilter devices, and what is said of a driver or compiler that is missing, damaged or too old: the loader
# looks for libraries in the directory of the case first.
# shellcheck shell=sh

devices() {
    LD_LIBRARY_PATH=$PWD VOLFILTER_CACHE=${CACHE-$PWD/cache} expect 0 devices "$@"
    [ ! -s err ]
}

# A library that loads and has none of the functions.
foreign_library() {
    ldd "$VOLFILTER" | sed -n 's/^[[:space:]]*libm\.so.* => \([^ ]*\) .*/\1/p'
}

test_without_a_driver() {
    : >libcuda.so.1
    devices
    prints "driver    unavailable: no CUDA driver: "
    prints "libcuda.so.1: file too short"
    prints "install NVIDIA's driver"
    prints "compiler  "
    prints "cache     $PWD/cache, 0 entries, 0.0 of 256 MiB"
    prints "shipped   "
    prints "costs     assumed by --backend auto"
    prints "start         0.1 s for the driver, 0.2 s for a device"
    prints "transfer      30 GB/s for whole volumes, 54 GB/s for slabs"
    prints "compiling     0.5 s for the compiler, 0.2 s per kernel and 0.5 ms per operation in it"
    only libcuda.so.1 out err
}

test_without_a_driver_as_json() {
    : >libcuda.so.1
    devices --json
    prints '"driver": null'
    prints '"driver_error": "no CUDA driver: '
    prints '"devices": []'
    prints "\"folder\": \"$PWD/cache\""
    prints '"pinned_bytes_per_second": 54000000000'
    prints '"staged_bytes_per_second": 30000000000'
    prints '"operation_seconds": 0.0005'
}

test_driver_that_lacks_functions() {
    ln -s "$(foreign_library)" libcuda.so.1
    devices
    prints "libcuda.so.1 lacks cuInit, cuDriverGetVersion, "
    prints "install a newer NVIDIA driver"
}

test_compiler_of_the_users_own() {
    : >libcuda.so.1
    mkdir -p toolkit/lib64
    for name in libnvrtc.so.13 libnvrtc.so.12 libnvrtc.so.11.2 libnvrtc.so; do
        ln -s "$(foreign_library)" "$name"
    done
    ln -s "$(foreign_library)" toolkit/lib64/libnvrtc.so
    CUDA_HOME=$PWD/toolkit devices
    if ! grep -q '^compiler  NVRTC' out; then
        prints "compiler  unavailable: no CUDA run-time compiler: libnvrtc.so.13 lacks nvrtcVersion, "
        prints "install the CUDA toolkit"
        prints "set CUDA_HOME"
    fi
}

test_kernels_that_came_with_the_program() {
    : >libcuda.so.1
    VOLFILTER_PRECOMPILED='' devices
    prints "shipped   no kernels"
    mkdir kernels
    printf 'ptx\t0\tglobal-read:block=32x1x1:work=1x1x1:grid=full:virtual=0:interior=0:variant=grid-span\t1\n' \
        >kernels/kernels.txt
    VOLFILTER_PRECOMPILED=$PWD/kernels devices
    prints "shipped   $PWD/kernels, 0 kernels, 0.0 MiB"
    VOLFILTER_PRECOMPILED=$PWD/kernels devices --json
    prints '"kernels": 0'
}

test_without_a_cache() {
    : >libcuda.so.1
    CACHE='' devices
    prints "cache     none"
    CACHE='' devices --json
    prints '"folder": null'
    mkdir open
    chmod 777 open
    CACHE=$PWD/open devices
    prints "cache     $PWD/open is not used: it belongs to another user, or others can write to it"
    CACHE=$PWD/out devices
    prints "cache     $PWD/out is not used: it is not a directory"
    : >"$(printf 'o\033t')"
    CACHE=$PWD/$(printf 'o\033t') devices
    prints "cache     $PWD/o\\x1bt is not used: it is not a directory"
    ln -s . link
    CACHE=$PWD/link devices
    prints "cache     $PWD/link is not used: it is a symbolic link"
}
