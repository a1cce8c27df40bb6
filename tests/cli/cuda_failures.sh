# The GPU's driver and compiler as they fail, here the stand-in's, which can be told to (tests/fake_cuda/calls.h). What
# comes out is right, or there is a message that says what to do and no file; what is not freed ends the program badly.
# How a device that is open fails, call by call, is in tests/cuda/test_cuda_failures.c too, where the CPU takes over.
# shellcheck shell=sh

# on_fake COMMAND...
on_fake() {
    LD_LIBRARY_PATH=${VOLFILTER%/*}/fake-cuda VOLFILTER_CACHE=$PWD/cache VOLFILTER_PRECOMPILED='' FAKE_CUDA_STRICT=1 \
        "$@"
}

fake() {
    on_fake expect "$@"
}

# logged CODE ARGUMENT...: the calls are in the file log.
logged() {
    : >log
    FAKE_CUDA_LOG=$PWD/log fake "$@"
}

# called NAME: how often, by the log.
called() {
    grep -c " $1\$" log || :
}

# number_of NAME [NTH]: which call its first or NTH one is, by the log.
number_of() {
    sed -n "s/^\([0-9]*\) $1\$/\1/p" log | sed -n "${2:-1}p"
}

# fail NUMBER [CODE [STAYS]]: that call fails, with an error that depends on the number if none is given.
fail() {
    FAKE_CUDA_STAYS=${3-0}
    if [ $# -gt 1 ]; then
        FAKE_CUDA_FAIL_WITH=$2
    else
        case $(($1 % 8)) in
        0) FAKE_CUDA_FAIL_WITH=2 ;;   # out of memory
        1) FAKE_CUDA_FAIL_WITH=719 ;; # launch failed; nothing works any more
        2) FAKE_CUDA_FAIL_WITH=209 ;; # no binary for the GPU
        3) FAKE_CUDA_FAIL_WITH=700 ;; # illegal address; nothing works any more
        4) FAKE_CUDA_FAIL_WITH=1 ;;   # invalid value
        5) FAKE_CUDA_FAIL_WITH=800 ;; # not permitted
        6) FAKE_CUDA_FAIL_WITH=214 ;; # uncorrectable ECC error; nothing works any more
        7) FAKE_CUDA_FAIL_WITH=999 FAKE_CUDA_STAYS=1 ;;
        esac
    fi
    FAKE_CUDA_FAIL=$1
    export FAKE_CUDA_FAIL FAKE_CUDA_FAIL_WITH FAKE_CUDA_STAYS
}

mend() {
    unset FAKE_CUDA_FAIL FAKE_CUDA_FAIL_WITH FAKE_CUDA_STAYS
}

# Progress ends at all that there is to do.
told_once() {
    sed -n 's/.*"filtering", "done": \([0-9]*\), "total": \([0-9]*\),.*/\1 \2/p' err >told
    [ "$(tail -n 1 told | sed 's/ .*//')" = "$(tail -n 1 told | sed 's/.* //')" ]
}

# each_call STEP ARGUMENT... OUTPUT: every STEP-th call fails, one a run, with the GPU asked for. The cache has all
# kernels but for COLD.
each_call() {
    step=$1
    shift
    for output; do :; done
    fake 0 --backend cuda "$@"
    mv "$output" right
    [ -z "${COLD-}" ] || rm -r cache
    logged 0 --backend cuda "$@"
    calls=$(grep -c '^[0-9]' log)
    refused=0
    for number in $(seq 1 "$step" "$calls"); do
        rm -f "$output"
        [ -z "${COLD-}" ] || rm -rf cache
        fail "$number"
        ACTUAL=0
        on_fake "$VOLFILTER" --backend cuda "$@" >out 2>err || ACTUAL=$?
        if [ "$ACTUAL" -eq 0 ]; then
            same right "$output"
            [ ! -s err ]
        else
            [ "$ACTUAL" -eq 1 ]
            says "; use --backend cpu to run without a GPU"
            [ ! -e "$output" ]
            refused=$((refused + 1))
        fi
    done
    mend
    fake 0 --backend cpu "$@"
    same right "$output"
    [ "$refused" -gt 0 ]
}

test_each_call_that_fails() {
    each_call 3 -f gaussian,gradient "$SMALL" out.tif
}

test_each_call_that_fails_with_global_values() {
    each_call 3 -f perona-malik:iterations=9 "$SMALL" out.tif
}

test_each_call_that_fails_in_slabs() {
    sparse 32 32 200 big.mrc
    sprinkle big.mrc 1
    export FAKE_CUDA_MEMORY=900000
    each_call 5 -f gaussian big.mrc out.mrc
}

# Slabs that follow do not go to the CPU.
test_device_that_is_lost_in_slabs() {
    sparse 32 32 1200 big.mrc
    set -- --backend cuda -f gaussian big.mrc out.mrc
    on_fake least "$@"
    logged 0 --memory "${LEAST}M" "$@"
    rm out.mrc
    fail "$(number_of cuLaunchKernelEx 2)" 719 1
    fake 1 --memory "${LEAST}M" "$@"
    says "unspecified launch failure (error 719); use --backend cpu"
    [ ! -e out.mrc ]
}

# The compiler's calls among them.
test_each_call_that_fails_as_kernels_are_made() {
    COLD=1
    each_call 17 -f gradient "$SMALL" out.tif
}

# ---- several files ----

three_files() {
    for name in a b c; do
        cp "$SMALL" $name.png
    done
    fake 0 --backend cpu -f gaussian "$SMALL" right.png
    fake 0 --backend cuda -f gaussian "$SMALL" out.png
}

# Every result that there is, is right; as many as wanted are.
results_are() {
    count=0
    for name in results/*.png; do
        [ -e "$name" ] || continue
        same right.png "$name"
        count=$((count + 1))
    done
    [ "$count" -eq "$1" ]
}

test_call_that_fails_in_one_of_several_files() {
    three_files
    logged 0 --backend cuda -f gaussian --out-dir results a.png b.png c.png
    results_are 3
    for turn in 1 2 3; do
        rm -r results
        fail "$(number_of cuMemAlloc $turn)" 1
        fake 3 --backend cuda -f gaussian --out-dir results a.png b.png c.png
        says "allocating device memory: "
        results_are 2
    done
}

# Files that are not there share the cost of starting the GPU, which is worth it then.
test_call_that_fails_is_told_of_its_file_only() {
    three_files
    # shellcheck disable=SC2046
    set -- --threads 1 -v -f eed:iterations=3 --out-dir results a.png b.png $(seq 3000)
    fake 3 --backend cuda "$@"
    logged 3 "$@"
    [ "$(grep -c " on the GPU, written " err)" = 2 ]
    fail "$(number_of cuLaunchKernelEx)" 1
    fake 3 "$@"
    says " on the GPU and the CPU, written "
    says " on the GPU, written "
}

# A device that is lost is not asked for the files that follow, but for those that were planned meanwhile: one, where one
# is read ahead.
test_device_that_is_lost_among_several_files() {
    three_files
    for name in d e f g; do
        cp "$SMALL" $name.png
    done
    logged 0 --backend cuda -f gaussian "$SMALL" out.png
    fail "$(number_of cuLaunchKernelEx)" 719 1
    logged 3 --threads 1 --backend cuda -f gaussian --out-dir results a.png b.png c.png d.png e.png f.png g.png
    says "a.png: launching a kernel: unspecified launch failure (error 719); use --backend cpu"
    says "the GPU was lost at an earlier file: a.png: launching a kernel"
    results_are 0
    [ "$(called cuCtxSetCurrent)" -le 5 ]
}

# What others hold of the device's memory may change from file to file.
test_memory_that_shrinks_among_several_files() {
    three_files
    logged 0 --backend cuda -f gaussian --out-dir results a.png b.png c.png
    FAKE_CUDA_TAKEN=$((8 << 30)) FAKE_CUDA_TAKEN_FROM=$(number_of cuMemAlloc 3) \
        fake 3 --backend cuda -f gaussian --out-dir results a.png b.png c.png
    says "not enough memory on Fake GPU"
    says "2 of 3 files failed"
}

# In processes of their own, of which there are as many as kernels. Sanitizers take the signal.
test_compiler_that_crashes() {
    three_files
    FAKE_NVRTC_SIGNAL=11 fake 3 --backend cuda -f gaussian,gradient --report r.json --out-dir results a.png b.png c.png
    says "the CUDA compiler, libnvrtc, crashed"
    says "3 of 3 files failed"
    grep -q '"failed": 3' r.json
    fake 0 --backend cuda -f gaussian,gradient --out-dir results a.png b.png c.png
}

# Volumes between two runs that the device has no room for are not taken from memory that is not allowed.
test_memory_for_what_the_device_cannot_hold() {
    sparse 128 128 512 big.mrc
    chain=perona-malik:k=10:iterations=60
    on_fake "$VOLFILTER" --backend cuda --dry-run --explain --json --memory 1G -f $chain big.mrc o.mrc >plan
    needed=$(($(sed -n 's/.*"memory_bytes": \([0-9]*\).*/\1/p' plan | tail -n 1) / 1048576))
    logged 0 --backend cuda -f gaussian "$SMALL" out.png
    # What the program itself takes differs from run to run; with less than needed the stack is filtered in slabs.
    FAKE_CUDA_TAKEN=$((8 << 30)) FAKE_CUDA_TAKEN_FROM=$(($(number_of cuMemGetInfo) + 1)) \
        fake 1 --backend cuda --memory $((needed + 16))M -f $chain big.mrc o.mrc
    says "raise --memory, or use --backend cpu"
}

# Runs are as short as what others left of the memory needs.
test_memory_that_others_hold() {
    sparse 64 64 100 big.mrc
    sprinkle big.mrc 1
    set -- -f perona-malik:k=10:iterations=16 big.mrc
    expect 0 --backend cpu "$@" cpu.mrc
    export FAKE_CUDA_MEMORY=4000000
    fake 0 --backend cuda --explain --dry-run "$@" gpu.mrc
    prints "run 2: perona-malik x8"
    FAKE_CUDA_TAKEN=3800000 fake 0 --backend cuda --explain --dry-run "$@" gpu.mrc
    prints ": perona-malik x1"
    FAKE_CUDA_TAKEN=3800000 fake 0 --backend cuda "$@" gpu.mrc
    unset FAKE_CUDA_MEMORY
    same gpu.mrc cpu.mrc
}

# What was told of a channel that begins anew, with its volumes in host memory, is not told again.
test_progress_of_volumes_that_do_not_stay() {
    sparse 32 32 40 small.mrc
    set -- --backend cuda -f perona-malik:iterations=9 small.mrc out.mrc
    logged 0 "$@"
    export FAKE_CUDA_MEMORY=4000000
    FAKE_CUDA_TAKEN=3600000 FAKE_CUDA_TAKEN_FROM=$(number_of cuMemAlloc) fake 0 --progress=json "$@"
    told_once
}

# ---- --backend auto ----

# Predicted for a CPU's thread: 0.4 s, which is more than the GPU takes, its start included, if the cache has the
# kernels. They are compiled, and then there is no memory.
slow() {
    SLOW="--threads 1 -f perona-malik:iterations=200"
    # shellcheck disable=SC2086
    FAKE_CUDA_TAKEN=$((8 << 30)) fake 1 --backend cuda $SLOW "$STACK" out.tif
    plan
    prints "backend cuda"
}

plan() {
    # shellcheck disable=SC2086
    logged 0 --explain --dry-run $SLOW "$STACK" out.tif
}

filter() {
    # shellcheck disable=SC2086
    logged 0 $SLOW "$STACK" out.tif
}

# The log has the calls up to the launches of some kernels; then the device is lost, since all of them take the
# stand-in a minute.
log_begin() {
    fail 160 719 1
    filter
    mend
}

# The CPU, which needs less memory, takes the whole after slabs were planned for the GPU, of one channel each.
test_channels_that_are_in_no_slabs() {
    many_channels >many.tif
    set -- --threads 1 -f perona-malik:k=10:iterations=400 many.tif
    FAKE_CUDA_TAKEN=$((8 << 30)) fake 1 --backend cuda "$@" out.tif
    fake 0 --memory 60M "$@" out.tif
    says "the GPU is not used: it needs"
    expect 0 --backend cpu "$@" right.tif
    same out.tif right.tif
}

# Nor is what was told of one that begins anew on the CPU.
test_progress_of_a_device_that_is_lost() {
    slow
    log_begin
    fail "$(number_of cuLaunchKernelEx 9)" 719 1
    # shellcheck disable=SC2086
    fake 0 --progress=json $SLOW "$STACK" out.tif
    mend
    grep -q "the GPU failed and the CPU took over" err
    told_once
}

# Before the device works, and in its first run.
test_cpu_takes_over_with_one_warning() {
    slow
    expect 0 --backend cpu -f perona-malik:iterations=200 "$STACK" right.tif
    log_begin
    # shellcheck disable=SC2086
    FAKE_CUDA_TAKEN=$((8 << 30)) FAKE_CUDA_TAKEN_FROM=$(number_of cuMemAlloc) logged 0 -v $SLOW "$STACK" out.tif
    same right.tif out.tif
    says "the GPU failed and the CPU took over: not enough memory on Fake GPU"
    says " s on the GPU and the CPU, written "
    # In halves down to a plane, for the pre-pass and each run of eight steps; then the CPU has all planes.
    [ "$(called cuMemAlloc)" -lt 100 ]
    cp log calls
    for name in cuInit cuDeviceGet cuDeviceTotalMem cuDevicePrimaryCtxRetain cuStreamCreate cuMemAlloc; do
        cp calls log
        fail "$(number_of $name)" 999 1
        filter
        mend
        same right.tif out.tif
        says "head-mri.tif: the GPU "
        [ "$(wc -l <err)" = 1 ]
    done
}

test_gpu_whose_memory_others_hold() {
    slow
    expect 0 --backend cpu -f perona-malik:iterations=200 "$STACK" right.tif
    # shellcheck disable=SC2086
    FAKE_CUDA_TAKEN=$((8 << 30)) logged 0 $SLOW "$STACK" out.tif
    same right.tif out.tif
    says "head-mri.tif: the GPU is not used: others hold its memory, all but 0.0 MiB of 8192.0 MiB"
    [ "$(wc -l <err)" = 1 ]
    [ "$(called cuMemAlloc)" = 0 ]
}

# Nothing is said of a GPU that is not there, or is none for this.
test_no_gpu_is_no_failure() {
    slow
    for code in 100 34; do # no device; the toolkit's stub of the driver
        fail 1 $code
        plan
        mend
        prints "backend cpu"
        [ ! -s err ]
    done
    for setting in FAKE_CUDA_DEVICES=0 FAKE_CUDA_DEVICES=-1 FAKE_CUDA_CAPABILITY=61; do
        export "${setting?}"
        plan
        unset "${setting%=*}"
        prints "backend cpu"
        [ ! -s err ]
    done
    fail 1 803
    plan
    prints "backend cpu"
    says "the GPU is not used: the CUDA driver does not start (nvidia-smi may say more): system has unsupported display"
    [ "$(wc -l <err)" = 1 ]
}

# Where a device does not open the next one may.
test_another_device_opens() {
    slow
    export FAKE_CUDA_DEVICES=3
    plan
    [ "$(called cuDevicePrimaryCtxRetain)" = 1 ]
    fail "$(number_of cuDevicePrimaryCtxRetain)"
    plan
    prints "backend cuda"
    [ ! -s err ]
    [ "$(called cuDevicePrimaryCtxRetain)" = 2 ]
    fail "$(number_of cuDevicePrimaryCtxRetain)" 46 1
    plan
    prints "backend cpu"
    says "the GPU is not used: opening the device (nvidia-smi shows who uses it): "
}

# ---- what is not begun for nothing ----

# starts DRIVER DEVICE ITERATIONS: whether planning for 0.03 s an iteration starts the driver, and opens the device.
starts() {
    logged 0 --explain --dry-run --threads 1 -f "ced:iterations=$3" "$STACK" out.tif
    [ "$(called cuInit)" = "$1" ]
    [ "$(called cuDevicePrimaryCtxRetain)" = "$2" ]
}

# Up to the time to start a GPU and to compile a kernel, of which an empty cache has none, the CPU is faster than any.
test_driver_is_not_started_for_nothing() {
    starts 0 0 8
    prints "backend cpu"
    starts 0 0 30
    prints "backend cpu"
    starts 1 0 35
    prints "backend cpu"
    starts 1 1 200
    prints "backend cuda"
    [ ! -e cache ]
    # A kernel of another chain, but that is not known without the device.
    fake 0 --backend cuda -f gaussian "$SMALL" out.png
    starts 0 0 8
    starts 1 0 17
    prints "backend cpu"
}

# Nor is the cache looked through for a small image, where files of writers that died would go.
test_cache_is_not_looked_through_for_nothing() {
    mkdir -m 700 cache
    touch -d '2 days ago' cache/.new-0
    starts 0 0 1
    [ -e cache/.new-0 ]
    starts 0 0 30
    [ ! -e cache/.new-0 ]
}

# A device that is asked for is opened at once.
test_device_that_is_asked_for_is_opened() {
    logged 0 --backend cuda --explain --dry-run -f gaussian "$SMALL" out.png
    [ "$(called cuDevicePrimaryCtxRetain)" = 1 ]
}

# ---- libraries ----

# without NAME: lib's driver lacks this function.
without() {
    LC_ALL=C sed "s/$1\x00/x${1#?}\x00/g" "${VOLFILTER%/*}/fake-cuda/libcuda.so.1" >lib/libcuda.so.1
}

test_driver_without_one_of_its_functions() {
    mkdir lib
    names=$(sed -n 's/^ *F([A-Za-z0-9]*, \(cu[A-Za-z0-9_]*\),.*/\1/p' "${DATA%/*}/src/cuda_driver.h")
    [ "$(echo "$names" | wc -l)" -gt 35 ]
    for name in $names; do
        [ "$name" != cuLaunchKernelEx ] || continue
        without "$name"
        LD_LIBRARY_PATH=$PWD/lib VOLFILTER_CACHE=$PWD/cache expect 1 --backend cuda -f gaussian "$SMALL" out.png
        says "--backend cuda: libcuda.so.1 lacks $name; install a newer NVIDIA driver (CUDA 11.2 or later); use --backend cpu"
    done
    LD_LIBRARY_PATH=$PWD/lib VOLFILTER_CACHE=$PWD/cache expect 0 -f gaussian "$SMALL" out.png
    silent
}

test_driver_that_starts_no_kernel_early() {
    mkdir lib
    without cuLaunchKernelEx
    ln -s "${VOLFILTER%/*}/fake-cuda/libnvrtc.so.13" lib
    LD_LIBRARY_PATH=$PWD/lib VOLFILTER_CACHE=$PWD/cache FAKE_CUDA_LOG=$PWD/log \
        expect 0 --backend cuda -f gaussian "$SMALL" out.png
    [ "$(called cuLaunchKernel)" -gt 0 ]
    expect 0 --backend cpu -f gaussian "$SMALL" cpu.png
    same out.png cpu.png
}

test_driver_without_a_compiler() {
    mkdir lib
    ln -s "${VOLFILTER%/*}/fake-cuda/libcuda.so.1" lib
    for name in libnvrtc.so.13 libnvrtc.so.12 libnvrtc.so.11.2 libnvrtc.so; do
        : >lib/$name
    done
    if [ -e /usr/local/cuda/lib64/libnvrtc.so ]; then
        return 0
    fi
    CUDA_HOME='' LD_LIBRARY_PATH=$PWD/lib VOLFILTER_CACHE=$PWD/cache VOLFILTER_PRECOMPILED='' \
        expect 1 --backend cuda -f gaussian "$SMALL" out.png
    says "no CUDA run-time compiler: "
    says "install the CUDA toolkit"
    says "; use --backend cpu to run without a GPU"
    [ ! -e out.png ]
}

# ---- tune ----

test_tune_ends_when_the_device_is_lost() {
    logged 0 tune --budget 0.001 --like "$SMALL" gaussian:sigma=1
    rm cache/tuned.txt
    fail $((3 * $(number_of cuEventElapsedTime) / 2)) 719
    fake 1 tune --budget 0.001 --like "$SMALL" gaussian:sigma=1
    says "unspecified launch failure"
    [ ! -e cache/tuned.txt ]
}
