# Filtering on the GPU, here the stand-in for one: choosing it, what is said without it, the same bits, the cache.
# shellcheck shell=sh

# The stand-in lies beside the program that is tested.
fake() {
    LD_LIBRARY_PATH=${VOLFILTER%/*}/fake-cuda VOLFILTER_CACHE=$PWD/cache expect "$@"
}

# No driver at all, whatever the machine has.
without() {
    : >libcuda.so.1
    LD_LIBRARY_PATH=$PWD VOLFILTER_CACHE=$PWD/cache expect "$@"
}

test_cuda_and_cpu_write_the_same_file() {
    fake 0 --backend cuda -f gaussian,gradient "$SMALL" gpu.tif
    silent
    fake 0 --backend cpu -f gaussian,gradient "$SMALL" cpu.tif
    cmp gpu.tif cpu.tif
}

# Slabs of them are weighed, and the whole is taken.
test_channels_of_one_plane() {
    many_channels >many.tif
    fake 0 --backend cuda --explain -f gaussian,median many.tif gpu.tif
    prints "the whole image is held"
    fake 0 --backend cpu -f gaussian,median many.tif cpu.tif
    cmp gpu.tif cpu.tif
}

test_second_run_compiles_nothing() {
    fake 0 --backend cuda -f gaussian "$SMALL" a.tif
    [ -n "$(names cache)" ]
    FAKE_NVRTC_CXX=/nonexistent fake 0 --backend cuda -f gaussian "$SMALL" b.tif
    cmp a.tif b.tif
}

# Thresholds that are equal in one image, here 0, are not in another: they are not kept as one, and the kernels of
# the one do for the other.
test_global_values_that_are_equal_elsewhere() {
    sparse 64 64 12 blank.mrc
    cp blank.mrc full.mrc
    dd if="$STACK" of=full.mrc bs=1024 skip=128 count=96 seek=1 conv=notrunc status=none
    for name in blank full; do
        expect 0 -f gaussian:sigma=0 $name.mrc $name.tif
    done
    for backend in cpu cuda; do
        fake 0 --backend $backend -f gradient:output=components,perona-malik:iterations=1 --out-dir $backend \
            blank.tif full.tif
    done
    same cpu/full.tif cuda/full.tif
    rm -r cache
    fake 0 --backend cuda -f gradient:output=components,perona-malik:iterations=1 blank.tif none.tif
    FAKE_NVRTC_CXX=/nonexistent fake 0 --backend cuda -f gradient:output=components,perona-malik:iterations=1 \
        full.tif again.tif
    same cpu/full.tif again.tif
}

# Kernels that a plan lacks are compiled in processes of their own, which a program that is killed takes along:
# its first compiler kills it.
test_compilers_end_with_the_program() {
    cat >slow <<EOF
#!/bin/sh
mkdir first || exec sleep 1
read -r _ _ _ program _ <"/proc/\$PPID/stat"
kill -KILL "\$program"
for turn in \$(seq 100); do
    # Also one that nobody has waited for yet is ended.
    read -r _ _ state _ 2>/dev/null <"/proc/\$PPID/stat" && [ "\$state" != Z ] || exec touch ended
    sleep 0.05
done
touch stayed
EOF
    chmod +x slow
    FAKE_NVRTC_CXX=./slow fake 137 --backend cuda --scheme global-read -f gaussian "$SMALL" out.tif
    until [ -e ended ]; do
        [ ! -e stayed ]
        sleep 0.05
    done
    [ ! -e out.tif ]
}

test_small_image_stays_on_the_cpu() {
    fake 0 --explain --dry-run -f gaussian "$SMALL" out.tif
    prints "backend cpu"
    [ ! -e cache ]
}

test_explain_names_kernels() {
    fake 0 --backend cuda --explain --dry-run -f gaussian,gradient "$SMALL" out.tif
    prints "backend cuda, Fake GPU"
    prints "kernel G"
    prints "lowest predicted time"
    fake 0 --backend cuda --explain --dry-run --json -f gaussian "$SMALL" out.tif
    prints '"backend": "cuda"'
    prints '"kernels": ['
    prints '"predicted_seconds": '
}

test_explain_tells_what_is_to_be_compiled() {
    fake 0 --backend cuda --explain --dry-run -f gaussian "$SMALL" out.tif
    prints "kernels that the cache lacks are compiled first: about "
    fake 0 --backend cuda -f gaussian "$SMALL" out.tif
    fake 0 --backend cuda --explain --dry-run -f gaussian "$SMALL" out.tif
    [ "$(grep -c "are compiled first" out)" = 0 ]
    fake 0 --backend cuda --explain --dry-run --json -f gaussian "$SMALL" out.tif
    prints '"compile_seconds": 0'
}

test_explain_tells_once_of_what_repeats() {
    fake 0 --backend cuda --explain --dry-run -f eed:iterations=80 "$STACK" out.tif
    prints "runs 3 to 10, each: eed x8"
    prints "run 11: eed x8"
    [ "$(grep -A 1 '^    8 times these [2-9] kernels:' out | grep -c '^      kernel ')" -gt 0 ]
    [ "$(grep -c '^ *kernel ' out)" -lt 40 ]
    fake 0 --backend cuda --explain --dry-run -f perona-malik:iterations=80 "$STACK" out.tif
    prints ", 8 times"
}

test_kernels_that_give_way_are_told_of() {
    FAKE_CUDA_REGISTERS=255 fake 0 -v --backend cuda -f gaussian "$STACK" a.tif
    says " of the plan did not compile as expected and w"
    fake 0 -v --backend cuda -f gaussian "$STACK" b.tif
    says " s on the GPU, written "
    [ "$(grep -c "of the plan did not compile" err)" = 0 ]
    cmp a.tif b.tif
}

test_kernel_that_does_not_compile_gives_way() {
    fake 0 --backend cuda --explain --dry-run -f gaussian "$SMALL" a.tif
    scheme=$(sed -n 's/^ *kernel G[^:]*: \([a-z-]*\),.*/\1/p' out | head -n 1)
    cat >picky <<EOF
#!/bin/sh
for word; do case \$word in *.cpp) ! grep "kernels/$(echo "$scheme" | tr - _).cu" "\$word" || exit 1 ;; esac; done
exec cc -x c++ "\$@"
EOF
    chmod +x picky
    FAKE_NVRTC_CXX=./picky fake 0 -v --backend cuda -f gaussian "$SMALL" a.tif
    says "not $scheme, block"
    says "does not compile for sm_90"
    fake 0 --backend cpu -f gaussian "$SMALL" b.tif
    cmp a.tif b.tif
    # Neither what was refused nor what was compiled goes to the compiler again.
    FAKE_NVRTC_CXX=/nonexistent fake 0 -v --backend cuda -f gaussian "$SMALL" a.tif
    says "not $scheme, block"
    cmp a.tif b.tif
}

test_kernels_that_cannot_be_kept_are_told_of() {
    fake 0 -v --backend cuda -f gaussian "$SMALL" a.tif
    [ "$(grep -c "kept" err)" = 0 ]
    rm -r cache
    : >cache
    fake 0 -v --backend cuda -f gaussian "$SMALL" a.tif
    says "cannot be kept for the next run: nothing can be written into $PWD/cache; set VOLFILTER_CACHE"
}

test_forced_scheme() {
    fake 0 --scheme big-tile:block=16x8x1:work=1x1x1 --explain --dry-run -f gaussian "$SMALL" out.tif
    prints "big-tile"
    prints "block 16x8x1, work 1x1x1"
    prints "forced by --scheme"
    fake 0 --scheme GY=global-read:block=32x2x1,GX=small-tile --explain --dry-run -f gaussian "$SMALL" out.tif
    prints "kernel GX: small-tile"
    prints "kernel GY: global-read"
}

test_forced_scheme_gives_the_same_file() {
    fake 0 --scheme GX=small-tile,GY=big-tile -f gaussian "$SMALL" a.tif
    fake 0 --backend cpu -f gaussian "$SMALL" b.tif
    cmp a.tif b.tif
}

test_scheme_mistakes() {
    while read -r word text; do
        fake 2 --backend cuda --scheme "$word" -f gaussian "$SMALL" out.tif
        says "--scheme $text"
    done <<END
nosuch nosuch: the GPU has global-read, small-tile,
GX=nosuch nosuch: the GPU has global-read, small-tile,
big-tile:blok=3 big-tile: unknown key 'blok'; keys are block=XxYxZ,
big-tile:block=0x1 big-tile: block=0x1: block and work are XxYxZ,
big-tile:block=3x big-tile: block=3x: block and work are XxYxZ,
big-tile:variant=nosuch big-tile: unknown variant 'nosuch'; it has columns,
big-tile:grid=round big-tile: grid=round: block and work are XxYxZ,
big-tile:virtual=2 big-tile: virtual=2: block and work are XxYxZ,
big-tile:block big-tile: key=value must follow ':'
big-tile, names none: the GPU has global-read, small-tile,
STAGENAMETOOLONG=big-tile STAGENAMETOOLONG=: no stage has such a long name
=big-tile =big-tile: expected [STAGE=]NAME[:key=value...]
END
    fake 2 --backend cuda --scheme bigtile -f gaussian "$SMALL" out.tif
    says "did you mean 'big-tile'"
    fake 2 --backend cuda --scheme big-tile:block=1024x1024x64 -f gaussian "$SMALL" out.tif
    says "scheme big-tile cannot run stage GX"
    fake 2 --backend cuda --scheme separable-stream -f gradient "$SMALL" out.tif
    says "scheme separable-stream cannot run stage GM"
    fake 2 --backend cuda --scheme GZ=big-tile -f gaussian "$SMALL" out.tif
    says "the chain has no stage GZ"
    fake 2 --backend cpu --scheme big-tile -f gaussian "$SMALL" out.tif
    says "is for the GPU"
    [ ! -e out.tif ]
}

test_without_a_driver_cuda_is_an_error() {
    without 1 --backend cuda -f gaussian "$SMALL" out.tif
    says "no CUDA driver"
    says "; use --backend cpu to run without a GPU"
    without 1 --scheme big-tile -f gaussian "$SMALL" out.tif
    says "no CUDA driver"
    says "; use --backend cpu, without --scheme, to run without a GPU"
    [ ! -e out.tif ]
}

test_without_a_driver_auto_is_silent() {
    without 0 -f gaussian "$SMALL" out.tif
    silent
}

test_without_a_device() {
    FAKE_CUDA_DEVICES=0 fake 1 --backend cuda -f gaussian "$SMALL" out.tif
    says "--backend cuda: "
}

test_device_that_fails_is_an_error_when_asked_for() {
    # The compiler is away, and nothing is in the cache.
    FAKE_NVRTC_CXX=/nonexistent fake 1 --backend cuda -f gaussian "$SMALL" out.tif
    says "does not compile"
    says "; use --backend cpu to run without a GPU"
    [ ! -e out.tif ]
    rm -r cache # it remembers what was refused
    # Not what a compiler that was killed left unsaid.
    printf '#!/bin/sh\nkill -9 $$\n' >killed
    chmod +x killed
    FAKE_NVRTC_CXX=$PWD/killed fake 1 --backend cuda -f gaussian "$SMALL" out.tif
    says "does not compile"
    fake 0 --backend cuda -f gaussian "$SMALL" out.tif
    rm -r cache out.tif
    # Too little memory for volumes to stay between runs, and for a plane.
    FAKE_CUDA_MEMORY=10000 fake 1 --backend cuda -f gaussian "$SMALL" out.tif
    says "not enough memory on Fake GPU"
    says "; use --backend cpu to run without a GPU"
    # Volumes between runs stay there: the device's loss is the whole file's.
    fake 0 --backend cuda -f perona-malik:iterations=9 "$SMALL" out.tif
    FAKE_CUDA_LOG=$PWD/log fake 0 --backend cuda -f perona-malik:iterations=9 "$SMALL" out.tif
    FAKE_CUDA_FAIL=$(grep cuLaunchKernelEx log | tail -n 1 | cut -d' ' -f1) \
        fake 1 --backend cuda -f perona-malik:iterations=9 "$SMALL" again.tif
    says "launching a kernel"
    says "; use --backend cpu to run without a GPU"
    [ ! -e again.tif ]
}

test_device_memory_that_holds_a_part_only() {
    fake 0 --backend cpu -f gaussian:sigma=2 "$STACK" cpu.tif
    FAKE_CUDA_MEMORY=6000000 fake 0 --backend cuda -f gaussian:sigma=2 "$STACK" gpu.tif
    cmp gpu.tif cpu.tif
}

# In slabs on their way at once there is no room for what a single one has.
test_device_memory_that_holds_a_slab_at_a_time() {
    is_sanitized && return
    sparse 128 128 60 big.mrc
    sprinkle big.mrc 1
    export FAKE_CUDA_MEMORY=1500000
    fake 1 --backend cuda --memory 1M -f mean,gaussian:sigma=1 big.mrc gpu.mrc
    thinnest=$(sed -n 's/.*the thinnest slab of this chain needs \([0-9]*\) MiB.*/\1/p' err)
    fake 0 --backend cuda --memory "${thinnest}M" -f mean,gaussian:sigma=1 big.mrc gpu.mrc
    expect 0 --backend cpu -f mean,gaussian:sigma=1 big.mrc cpu.mrc
    same gpu.mrc cpu.mrc
}

# Of a hyperstack each image, of several files each file finds the buffers of the one before.
test_device_memory_that_holds_one_image() {
    is_sanitized && return
    cp "$DATA/epi-time.tif" one.tif
    cp "$DATA/epi-time.tif" two.tif
    for memory in 8000000000 4000000; do
        rm -f log
        FAKE_CUDA_MEMORY=$memory FAKE_CUDA_LOG=$PWD/log \
            fake 0 --backend cuda --scheme global-read -f gaussian --out-dir results one.tif two.tif
        grep -c 'cuLaunchKernelEx$' log >launches.$memory
    done
    same launches.8000000000 launches.4000000
}

# Kernels for devices before 9.0 do not wait for one another by themselves, and so must not begin early.
test_kernels_of_older_devices_follow_one_another() {
    set -- --backend cuda -f perona-malik:iterations=9 "$SMALL"
    FAKE_CUDA_LOG=$PWD/early fake 0 "$@" out.tif
    FAKE_CUDA_CAPABILITY=86 FAKE_CUDA_LOG=$PWD/late fake 0 "$@" again.tif
    ! grep 'cuLaunchKernel$' early && grep -q 'cuLaunchKernelEx$' early
    ! grep 'cuLaunchKernelEx$' late && grep -q 'cuLaunchKernel$' late
    same out.tif again.tif
}

# What contexts and displays hold of any device is not reckoned with.
test_device_memory_that_others_hold_little_of() {
    export FAKE_CUDA_MEMORY=130000
    set -- --backend cuda --explain --dry-run -f perona-malik:k=10:iterations=16 "$SMALL" out.tif
    FAKE_CUDA_TAKEN=16000 fake 0 "$@"
    prints "volumes stay on the device between runs"
    FAKE_CUDA_TAKEN=17000 fake 0 "$@"
    prints "volumes do not fit on the device"
}

# Two slabs of a run are on their way, and one of the pre-pass that reads them.
test_slabs_of_a_run_before_a_pre_pass() {
    is_sanitized && return
    sparse 64 64 300 big.mrc
    sprinkle big.mrc 1
    expect 0 -f gaussian:sigma=0 --dtype float64 big.mrc big.tif
    set -- --precision single --dtype float32 -f gaussian,perona-malik:iterations=1 big.tif
    fake 1 --backend cuda --memory 1M "$@" gpu.tif
    thinnest=$(sed -n 's/.*the thinnest slab of this chain needs \([0-9]*\) MiB.*/\1/p' err)
    fake 0 --backend cuda --memory $((thinnest + 3))M --dry-run --explain "$@" gpu.tif
    prints "pass 1: run 1, then pre-pass run 2;"
    fake 0 --backend cuda --memory $((thinnest + 3))M "$@" gpu.tif
    expect 0 --backend cpu "$@" cpu.tif
    same gpu.tif cpu.tif
}

# What a CPU would do as fast in one sweep takes it three times as long in slabs of few planes.
test_slabs_decide_where_the_whole_does_not_fit() {
    is_sanitized && return
    sparse 1024 1024 400 big.mrc
    set -- --threads 4 --memory 400M --explain --dry-run -f gaussian:sigma=12 big.mrc o.mrc
    fake 0 "$@"
    prints "backend cuda"
    prints "larger than memory"
    fake 0 --backend cpu "$@"
    prints "backend cpu"
    # And what takes it longer in one sweep.
    fake 0 "$@" --threads 1
    prints "backend cuda"
    prints "larger than memory"
}

# Whoever started the program may have left it children of its own.
test_only_compilers_are_waited_for() {
    trap 'kill "$(cat child)"' EXIT
    LD_LIBRARY_PATH=${VOLFILTER%/*}/fake-cuda VOLFILTER_CACHE=$PWD/cache timeout 60 \
        sh -c 'sleep 300 & echo $! >child; exec "$@"' sh "$VOLFILTER" --backend cuda -f gaussian,gradient "$SMALL" out.tif
    [ -s out.tif ]
}

test_global_values_on_the_device() {
    fake 0 --backend cuda -f perona-malik:iterations=2 "$SMALL" gpu.tif
    fake 0 --backend cpu -f perona-malik:iterations=2 "$SMALL" cpu.tif
    cmp gpu.tif cpu.tif
}

test_many_files_open_the_device_once() {
    cp "$SMALL" one.png
    cp "$SMALL" two.png
    FAKE_CUDA_LOG=$PWD/log fake 0 --backend cuda -f gaussian --out-dir results one.png two.png
    [ "$(grep -c 'cuInit$' log)" -eq 1 ]
}

# What is finished needs no GPU; else one message tells of all files.
test_a_batch_that_is_finished_needs_no_device() {
    cp "$SMALL" one.png
    cp "$SMALL" two.png
    fake 0 --backend cuda -f gaussian --out-dir d --resume one.png
    without 0 --backend cuda -f gaussian --out-dir d --resume one.png
    without 1 --backend cuda -f gaussian --out-dir d --resume --report r.json one.png two.png
    grep -q '"error": "--backend cuda: ' r.json
    says "--backend cuda: "
    [ "$(wc -l <err)" -eq 1 ]
    [ ! -e d/two.png ]
}

# A kernel that is measured in part would be kept and never finished. Under sanitizers this is the case of tune: each
# kernel takes their compiler a second.
test_tune_keeps_what_plans_then_take() {
    fake 0 tune --budget 0.001 --like "$SMALL" gradient gaussian:sigma=2
    prints "1 kernel measured, recorded in $PWD/cache/tuned.txt"
    [ "$(sed -n 's/.*; best of //p' out)" -ge 24 ]
    fake 0 --backend cuda --explain --dry-run -f gradient "$SMALL" out.tif
    prints "tuned, "
    prints "fastest of those measured"
    fake 0 devices
    prints "tuning        1 kernel measured here"
    fake 0 tune --like "$SMALL" gradient
    prints "nothing new to measure"
}

# Along an axis where voxels are longer sums are narrower, which are other kernels.
test_tune_takes_the_size_of_voxels() {
    is_sanitized && return
    sparse 20 18 1 one.mrc
    fake 0 tune --budget 0.001 --spacing 1x2nm --like one.mrc gaussian:sigma=1nm
    prints "linear9@4x0x0(0)1 linear5@0x2x0(1)2"
    fake 2 tune --like one.mrc gaussian:sigma=1nm
    says "needs the voxel size along x, which is not known"
}

# What is known of one size gives plans for another, which has yet to be measured.
test_tune_measures_what_is_known_of_another_size() {
    is_sanitized && return
    sparse 40 36 8 one.mrc
    sparse 44 36 8 other.mrc
    fake 0 tune --budget 0.001 --like one.mrc gradient
    fake 0 --backend cuda --explain --dry-run -f gradient other.mrc out.mrc
    prints "chosen from measurements at a similar size"
    fake 0 tune --budget 0.001 --like other.mrc gradient
    prints "1 kernel measured"
    [ "$(wc -l <cache/tuned.txt)" = 2 ]
    fake 0 --backend cuda --explain --dry-run -f gradient other.mrc out.mrc
    prints "fastest of those measured"
}

test_tune_that_is_ended_keeps_what_it_has() {
    is_sanitized && return
    # Ended by the first compiler that is asked for the second kernel.
    cat >slow <<EOF
#!/bin/sh
if [ -s cache/tuned.txt ]; then
    read -r _ _ _ tune _ <"/proc/\$PPID/stat"
    kill "\$tune"
    exec sleep 2
fi
exec cc -x c++ "\$@"
EOF
    chmod +x slow
    FAKE_NVRTC_CXX=./slow fake 143 tune --like "$SMALL" gaussian:sigma=2 gradient
    [ "$(grep -c ' times a copy; ' out)" = 1 ]
    [ "$(wc -l <cache/tuned.txt)" = 1 ]
}

test_tune_needs_a_place_for_what_it_finds() {
    LD_LIBRARY_PATH=${VOLFILTER%/*}/fake-cuda VOLFILTER_CACHE='' expect 1 tune --like "$SMALL" gradient
    says "set VOLFILTER_CACHE to a directory"
    [ ! -s out ]
    mkdir cache
    chmod 777 cache
    mkfifo cache/tuned.txt
    fake 1 tune --like "$SMALL" gradient
    says "nothing can be kept in $PWD/cache: it belongs to another user, or others can write to it"
    fake 0 devices
    prints "tuning        0 kernels measured here"
}

test_tune_needs_a_device() {
    without 1 tune
    says "libcuda.so.1"
    [ "$(grep -c -e '--backend cpu' err)" -eq 0 ]
    # Mistakes come first.
    without 2 tune gradeint
    says "unknown filter 'gradeint'"
    without 2 tune gaussian gaussian,
    # shellcheck disable=SC2046
    without 1 tune $(yes gaussian | head -n 65)
    without 2 tune --backend cpu
    says "tune measures GPU kernels"
    without 1 tune --like nowhere.tif
    says "nowhere.tif: cannot be read"
}

# slabs ARGUMENT...: with the least memory it goes slab by slab, and the result is the CPU's.
slabs() {
    fake 0 --backend cpu "$@" cpu.mrc
    fake 1 --backend cuda --memory 1M "$@" gpu.mrc
    least_needed
    fake 0 --backend cuda --memory "${LEAST}M" --explain "$@" gpu.mrc
    prints "larger than memory"
    cmp cpu.mrc gpu.mrc
}

test_larger_than_memory_on_the_device() {
    sparse 32 32 1200 big.mrc
    sprinkle big.mrc 1 3
    slabs --boundary wrap -f gaussian:sigma=2 big.mrc
    prints "from the image to the result"
    # Sanitizers take a minute for these, and slabs of them are in the tests of the device.
    is_sanitized && return
    slabs -f perona-malik:iterations=1,gradient big.mrc
    slabs --slices -f gaussian big.mrc
}

# Runs of fewer iterations need fewer planes; where memory is too little for any, the CPU has it.
test_memory_that_is_too_little_for_long_runs() {
    # Sanitizers hold much more.
    is_sanitized && return
    sparse 1024 1024 400 big.mrc
    fake 0 --backend cuda --memory 400M --explain --dry-run -f eed:iterations=30:k=2 big.mrc o.mrc
    prints "larger than memory"
    prints "run 15: eed"
    sparse 300 300 60 thin.mrc
    fake 1 --threads 1 --backend cuda --memory 80M --dry-run -f ced:iterations=60 thin.mrc o.mrc
    says "raise --memory"
    fake 0 --threads 1 --memory 80M --explain --dry-run -f ced:iterations=60 thin.mrc o.mrc
    prints "backend cpu"
    says "the GPU is not used: it needs "
}

# Whatever call fails: the right file, or a message and no file.
test_failures_in_slabs() {
    sparse 32 32 1200 big.mrc
    sprinkle big.mrc 1 3
    slabs -f gaussian big.mrc
    rm gpu.mrc
    # Under sanitizers one does: calls that fail in slabs are in the tests of the device.
    for failing in 82 121 147; do
        if is_sanitized && [ $failing -ne 121 ]; then
            continue
        fi
        FAKE_CUDA_FAIL=$failing LD_LIBRARY_PATH=${VOLFILTER%/*}/fake-cuda VOLFILTER_CACHE=$PWD/cache \
            "$VOLFILTER" --backend cuda --memory "${LEAST}M" -f gaussian big.mrc gpu.mrc 2>err || {
            [ $? -eq 1 ]
            says "volfilter: "
            [ ! -e gpu.mrc ]
            continue
        }
        cmp cpu.mrc gpu.mrc
        rm gpu.mrc
    done
}
