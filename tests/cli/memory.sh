# Larger than memory: passes over slabs give the same bytes, and stay below the bound.
# shellcheck shell=sh

# in_slabs MORE ARGUMENT...: with MORE MiB than the least it is done in slabs, and the result is the same.
in_slabs() {
    more=$1
    shift
    expect 0 "$@" whole.tif
    least "$@" slabs.tif
    expect 0 --memory $((LEAST + more))M --explain "$@" slabs.tif
    prints "larger than memory"
    seconds=$(sed -n 's/^larger than memory: .* predicted \([0-9]*\)\.[0-9]* s$/\1/p' out)
    [ "$seconds" -lt 60 ]
    same whole.tif slabs.tif
}

# In milliseconds.
predicted() {
    sed -n 's/^larger than memory: .* predicted \([0-9]*\)\.\([0-9]*\) s$/\1\2/p' out | sed 's/^0*//'
}

# What is left beside the thinnest slab is used, for tiles that are not as small as can be.
test_memory_beyond_the_least_is_used() {
    sparse 320 320 200 big.mrc
    set -- --threads 2 --dtype float32 -f gaussian:sigma=5 big.mrc out.mrc
    least "$@"
    expect 0 --dry-run --explain --memory $((LEAST + 8))M "$@"
    fast=$(predicted)
    expect 0 --dry-run --explain --memory "${LEAST}M" "$@"
    [ "$(predicted)" -lt $((8 * fast)) ]
}

# Each boundary meets each chain; under sanitizers one of them, and what takes minutes there is left out.
test_slabs_give_the_same_bytes() {
    turn=0
    for boundary in nearest mirror constant=5 wrap; do
        turn=$((turn + 1))
        at=0
        for chain in gaussian:sigma=2 gaussian,eed:iterations=2,gradient structure-tensor perona-malik:iterations=9; do
            at=$((at + 1))
            if [ $at -eq $turn ] || ! is_sanitized; then
                in_slabs $((at == 2)) --boundary $boundary -f $chain "$STACK"
            fi
        done
    done
    in_slabs 4 -f gaussian,srad:iterations=3,gaussian --dtype float32 "$STACK"
    # What a median leaves is stored as the image is, also in the file that a pre-pass leaves to the next pass.
    in_slabs 1 -f median,perona-malik:iterations=2,gaussian "$STACK"
    # Two sweeps: the second sums one field along z, and the first makes another one as far, which it does not.
    in_slabs 0 --scheme row-stream:tile=100x64x32:cut=WZ/1 -f dog "$STACK"
    is_sanitized && return
    in_slabs 1 -f and:iterations=2 "$STACK"
    in_slabs 0 -f hessian:sigma=2 "$STACK"
    in_slabs 0 -f gaussian:sigma=0.5,eed:iterations=1,gaussian:sigma=0.5,eed:iterations=1 "$STACK"
    in_slabs 0 -f gradient:output=components,gaussian --compress lzw "$STACK"
    in_slabs 0 -f gaussian,perona-malik --dtype float64 --precision double "$STACK"
}

# What a run reads is where a later one stores, if it is of the type that this makes: here the median's is not.
test_volumes_between_runs_are_of_their_types() {
    once=perona-malik:iterations=1
    expect 0 --dtype float32 -f median,$once,$once,$once "$STACK" a.tif
    expect 0 -f median "$STACK" median.tif
    expect 0 --dtype float32 -f $once,$once,$once median.tif b.tif
    same a.tif b.tif
    expect 0 --explain --dry-run -f median:radius=2,median:radius=2 "$STACK" o.tif
    prints "computes in uint16"
}

# What is read in place takes more than a ring of short and few rows would.
test_two_sweeps_over_short_rows() {
    sparse 32 1 2 small.mrc
    expect 0 -f structure-tensor:sigma=0:rho=1 --scheme row-stream:tile=64x1x9:cut=RZ/1 small.mrc a.tif
    expect 0 -f structure-tensor:sigma=0:rho=1 --scheme reference small.mrc b.tif
    same a.tif b.tif
}

test_channels_slices_times_and_planes_beyond() {
    expect 0 -f gradient:output=components "$STACK" three.tif
    in_slabs 0 -f gaussian,perona-malik:iterations=2 three.tif
    in_slabs 0 -f gaussian,perona-malik:k=3:iterations=2 three.tif
    in_slabs 0 --slices -f gaussian,perona-malik "$STACK"
    is_sanitized && return
    expect 0 -f gradient:output=components "$DATA/head-mri-plain.tif" plain.tif
    in_slabs 0 -f gaussian,perona-malik:iterations=2 plain.tif
    in_slabs 0 -f perona-malik,eed:iterations=2 "$DATA/epi-time.tif"
    in_slabs 0 --boundary wrap -f eed:iterations=2 "$DATA/epi-time.tif"
    # Halos of more planes than there are beyond a slab.
    in_slabs 0 --boundary wrap -f gaussian:sigma=2,perona-malik:iterations=3 "$DATA/epi-time.tif"
}

# Those of one plane are images of their own, unless a threshold is of each as a whole.
test_channels_of_one_plane() {
    many_channels >many.tif
    chain=perona-malik:k=3:iterations=2,gradient:output=components,gradient:output=components
    in_slabs 0 -f $chain many.tif
    expect 1 --memory $((LEAST + 10))M -f "perona-malik:k=auto,$chain" many.tif o.tif
    says "or filter its channels as files of their own"
    in_slabs 0 -f median,gaussian:sigma=3 --dtype float64 --compress lzw many.tif
}

# Alpha passes beside the chain, and is read again when its plane is written.
test_alpha_in_slabs() {
    with_alpha 200 180 60 >alpha.tif
    has alpha.tif alpha true
    is_sanitized || in_slabs 0 -f perona-malik:iterations=2 alpha.tif
    in_slabs 1 --boundary wrap -f gaussian:sigma=2,median alpha.tif
}

# One plane goes by its rows.
test_rows_of_one_plane() {
    wide 1003 2001 wide.tif
    expect 0 --compress deflate -f gaussian wide.tif strips.tif
    for boundary in nearest wrap; do
        [ $boundary = nearest ] || ! is_sanitized || break
        in_slabs 0 --boundary $boundary -f gaussian:sigma=2,perona-malik:k=auto:iterations=2 wide.tif
        prints "rows, "
        in_slabs 2 --boundary $boundary -f gradient:output=components strips.tif
        prints "rows, "
    done
    in_slabs 0 --boundary constant=9 -f structure-tensor --dtype float64 strips.tif
    expect 0 -f gaussian wide.tif wide.mrc
    expect 1 --memory 12M --explain -f gaussian wide.mrc o.tif
    says "the thinnest slab of this chain needs"
    prints "the whole image would have to be held"
    if command -v tiffcp >tiffcp.path; then
        tiffcp -c lzw -r 2001 wide.tif one.tif
        expect 1 --memory 20M -f gaussian one.tif o.tif
        says "or store the image in strips of few rows: tiffcp -s -r 16"
        expect 1 -f gaussian --memory 14M one.tif d.png
        says "or use TIFF for the result too, and store the image in strips of few rows"
    fi
    least -f gradient:output=components wide.tif o.tif
    (
        ulimit -f 4000
        expect 1 --memory $((LEAST + 2))M -f gradient:output=components wide.tif o.tif
    )
    says "o.tif: rows from "
    [ ! -e o.tif ]
}

test_what_fails_between_passes_names_the_file() {
    chain=gaussian:sigma=3,eed:iterations=8,gaussian:sigma=3
    least -f $chain "$STACK" o.tif
    (
        ulimit -f 8
        expect 1 --memory "${LEAST}M" -f $chain "$STACK" o.tif
    )
    says "$STACK: the temporary file between two passes cannot be written"
    [ ! -e o.tif ]
}

# A pass has the file that it reads and the one that it writes; those before them are closed, and their room is free.
test_two_temporary_files_at_a_time() {
    is_sanitized && return
    least -f perona-malik:iterations=100:k=10 "$STACK" o.tif
    # shellcheck disable=SC3045
    (
        ulimit -n $((3 + $(find /proc/self/fd -mindepth 1 | wc -l)))
        exec "$VOLFILTER" --memory "${LEAST}M" -f perona-malik:iterations=100:k=10 "$STACK" o.tif
    )
}

test_more_memory_takes_fewer_passes() {
    sparse 256 256 20000 long.mrc
    chain=perona-malik:iterations=50:k=10
    least -f $chain long.mrc o.mrc
    expect 0 --dry-run --explain --memory $((LEAST + 6))M -f $chain long.mrc o.mrc
    few=$(sed -n 's/^larger than memory: \([0-9]*\) pass.*/\1/p' out)
    [ "$few" -gt 1 ]
    # Of float32: what a pass reads, and what it writes.
    prints "with 10000.0 MiB of disk for temporary files"
    expect 0 --dry-run --explain --memory $((LEAST + 80))M -f $chain long.mrc o.mrc
    prints "larger than memory: 1 pass over slabs"
    prints "reads 2500.0 MiB and writes 2500.0 MiB in all"
}

test_what_is_light_is_computed_again() {
    sparse 256 256 20000 long.mrc
    expect 0 --dry-run --explain --memory 140M -f gaussian,eed:iterations=5 long.mrc o.mrc
    prints "pass 1: run 1, then pre-pass run 2; from the image; slabs"
    prints "pass 2: runs 1 and 3 to 7; from the image to the result; slabs"
    prints "reads 5000.0 MiB and writes 2500.0 MiB in all"
}

test_the_peak_is_below_the_bound() {
    is_sanitized && return
    sparse 512 512 200 big.mrc
    sprinkle big.mrc 100 500 900 1300
    least -f gaussian big.mrc o.tif
    bound=$((LEAST + 8))
    expect 0 --json --memory ${bound}M -f gaussian big.mrc slabs.tif
    peak=$(sed -n 's/.*"peak_memory_bytes": \([0-9]*\).*/\1/p' out)
    [ "$peak" -le $((bound << 20)) ]
    expect 0 --scheme row-stream -f gaussian big.mrc whole.tif
    same whole.tif slabs.tif
    # There is memory for the whole, and it is faster by slabs.
    expect 0 --explain -f gaussian big.mrc slabs.tif
    prints "read, filtered and written at the same time: 1 pass"
    same whole.tif slabs.tif
}

# Threads that decode have libtiff's tables of all pages each, those that compress a codec's; alpha passes beside the
# channels.
test_what_files_take_is_below_the_bound() {
    ! is_sanitized || return 0
    sparse 8 8 40000 many.mrc
    expect 0 --slices --compress deflate -f mean many.mrc many.tif
    sparse 1024 1024 40 big.mrc
    expect 0 -f mean big.mrc big.tif
    with_alpha 1500 1400 6 >alpha.tif
    set -- --threads 8 --compress none many.tif --threads 16 --compress zstd big.tif \
        --threads 2 --compress none alpha.tif
    while [ $# -gt 0 ]; do
        least "$1" "$2" "$3" "$4" -f mean "$5" out.tif
        expect 0 --json --memory $((LEAST + 1))M "$1" "$2" "$3" "$4" -f mean "$5" out.tif
        peak=$(sed -n 's/.*"peak_memory_bytes": \([0-9]*\).*/\1/p' out)
        [ "$peak" -le $(((LEAST + 1) << 20)) ]
        shift 5
    done
    # A PNG, which does not go by slabs: its bands beside the result.
    sparse 4000 4000 1 wide.mrc
    expect 0 --json --threads 16 -f mean wide.mrc out.png
    bound=$(sed -n 's/.* "memory_bytes": \([0-9]*\).*/\1/p' out)
    peak=$(sed -n 's/.*"peak_memory_bytes": \([0-9]*\).*/\1/p' out)
    [ "$peak" -le "$bound" ]
}

# described BEGIN END: a TIFF whose description has 20 million blanks between these.
described() {
    before_strip 8 8 8 1 1 64 $((${#1} + 20000000 + ${#2} + 1))
    head -c 64 "$STACK"
    printf %s "$1"
    head -c 20000000 /dev/zero | tr '\0' ' '
    printf '%s\0' "$2"
}

# Opening a file holds them several times, and so does libpng.
test_long_texts_stay_within_the_bound() {
    ! is_sanitized || return 0
    described "<OME xmlns='http://www.openmicroscopy.org/Schemas/OME/2016-06'><Image><Pixels DimensionOrder='XYZCT' Type='uint8' SizeX='8' SizeY='8' SizeZ='1' SizeC='1' SizeT='1'><TiffData/></Pixels></Image>" '</OME>' >ome.tif
    described begin end >plain.tif
    for files in 'ome.tif out.mrc' 'ome.tif out.tif' 'plain.tif out.png' 'plain.tif out.tif'; do
        # shellcheck disable=SC2086
        expect 0 --json -f mean $files
        bound=$(sed -n 's/.* "memory_bytes": \([0-9]*\).*/\1/p' out)
        peak=$(sed -n 's/.*"peak_memory_bytes": \([0-9]*\).*/\1/p' out)
        [ "$peak" -ge 40000000 ] && [ "$peak" -le "$bound" ]
    done
}

# Of pages by the hundred thousand: where their planes are, and the labels of several channels' pages, take more than these do.
# Fewer where each has a directory of its own, which takes libtiff long.
test_many_pages_stay_within_the_bound() {
    ! is_sanitized || return 0
    sparse 1 1 400000 pages.mrc
    sparse 1 1 40000 fewer.mrc
    for arguments in 'mean pages.mrc out.mrc' 'mean fewer.mrc out.tif' 'hessian pages.mrc out.tif'; do
        # shellcheck disable=SC2086
        needed=$("$VOLFILTER" --json --explain --dry-run -f $arguments | sed -n 's/.*"memory_bytes": \([0-9]*\).*/\1/p')
        for memory in $((needed + (1 << 20))) 1G; do
            # shellcheck disable=SC2086
            expect 0 --json --memory $memory -f $arguments
            bound=$(sed -n 's/.* "memory_bytes": \([0-9]*\).*/\1/p' out)
            peak=$(sed -n 's/.*"peak_memory_bytes": \([0-9]*\).*/\1/p' out)
            [ "$peak" -le "$bound" ]
        done
    done
}

# Volumes between runs are too small here for the allocator to give back what it had for the last ones.
test_the_peak_of_many_runs_is_below_the_bound() {
    ! is_sanitized || return 0
    sparse 220 200 160 stack.mrc
    sprinkle stack.mrc 10 100
    for type in uint8 float32; do
        bound=$("$VOLFILTER" --json --explain --dry-run --memory 1G -f eed:iterations=7:k=3 --dtype $type stack.mrc o.tif |
            sed -n 's/.*"memory_bytes": \([0-9]*\).*/\1/p')
        bound=$((bound + 100000))
        expect 0 --json --memory "$bound" -f eed:iterations=7:k=3 --dtype $type stack.mrc o.tif
        peak=$(sed -n 's/.*"peak_memory_bytes": \([0-9]*\).*/\1/p' out)
        [ "$peak" -le "$bound" ]
    done
}

# Where there is plenty, what a pre-pass leaves is not kept beside what the next pass takes.
test_the_peak_of_passes_is_as_planned() {
    ! is_sanitized || return 0
    sparse 512 512 400 big.mrc
    sprinkle big.mrc 100 500 900 1300
    expect 0 --json --threads 2 --memory 4G -f eed:iterations=1 big.mrc o.mrc
    bound=$(sed -n 's/.* "memory_bytes": \([0-9]*\).*/\1/p' out)
    peak=$(sed -n 's/.*"peak_memory_bytes": \([0-9]*\).*/\1/p' out)
    [ "$peak" -le "$bound" ]
}

# A percentile's take 512 KiB for each thread, also where nothing goes by slabs; in slabs each channel has its own.
test_counters_of_a_pre_pass_are_counted() {
    sparse 64 64 64 stack.mrc
    for k in auto 5; do
        "$VOLFILTER" --json --explain --dry-run --threads 64 --backend cpu -f perona-malik:k=$k:iterations=1 stack.mrc o.tif |
            sed -n 's/.*"memory_bytes": \([0-9]*\).*/\1/p' >$k
    done
    [ $(($(cat auto) - $(cat 5))) -gt $((20 << 20)) ]
    expect 0 -f gradient:output=components "$STACK" three.tif
    least --threads 16 -f perona-malik:k=5:iterations=1 three.tif o.tif
    few=$LEAST
    least --threads 16 -f perona-malik:k=auto:iterations=1 three.tif o.tif
    [ $((LEAST - few)) -gt 20 ]
}

test_the_peak_of_a_batch_is_below_the_bound() {
    sparse 220 200 160 stack.mrc
    for file in 1 2 3 4 5 6; do "$VOLFILTER" -q -f gaussian:sigma=0 stack.mrc $file.tif; done
    expect 0 --json --memory 70M -f gaussian --out-dir d 1.tif 2.tif 3.tif 4.tif 5.tif 6.tif
    peak=$(sed -n 's/.*"peak_memory_bytes": \([0-9]*\).*/\1/p' out | tail -n 1)
    is_sanitized || [ "$peak" -le $((70 << 20)) ]
    # What the process holds when later ones are planned is that of earlier ones, which are counted.
    sed -n 's/.* "memory_bytes": \([0-9]*\).*/\1/p' out >each
    [ "$(sort -n each | tail -n 1)" -eq "$(head -n 1 each)" ]
}

# Of what --resume reads only what is asked for is held, wherever it is.
test_a_long_list_of_results_takes_no_memory() {
    cp "$STACK" a.tif
    cp "$STACK" b.tif
    expect 0 -f gaussian --resume --out-dir d a.tif
    seq -f "$(printf '%064d' 0) 1 1.1 %.0f.tif" 100000 >others
    cat others d/.volfilter-done others >longer
    mv longer d/.volfilter-done
    bound=30
    if is_sanitized; then # it needs about as much, and the list has 16 MB
        least -f gaussian b.tif o.tif
        bound=$((LEAST + 6))
    fi
    expect 0 --json --memory ${bound}M -f gaussian --resume --out-dir d a.tif b.tif
    says "1 of 2 files were already finished"
    peak=$(sed -n 's/.*"peak_memory_bytes": \([0-9]*\).*/\1/p' out)
    is_sanitized || [ "$peak" -le $((30 << 20)) ]
}

test_a_large_stack_stays_within_its_bound() {
    # Sanitizers hold much more.
    is_sanitized || "$DATA/../tests/large/run" 48 40M
}

# Without --memory three quarters of what is free are taken, here of addresses.
test_a_quarter_of_memory_stays_free() {
    is_sanitized && return
    # shellcheck disable=SC3045
    (ulimit -v 1000000 && expect 0 --json --explain --dry-run -f gaussian "$STACK" o.tif)
    limit=$(sed -n 's/.*"memory_limit_bytes": \([0-9]*\).*/\1/p' out)
    [ "$limit" -le $((750000 * 1024)) ]
}

test_too_little_memory_or_disk() {
    expect 1 --memory 2M -f gaussian "$STACK" o.tif
    says "--memory allows 2.0 MiB"
    only out err
    expect 1 --memory 2M -f gaussian "$IMAGE" o.png
    says "--memory allows 2.0 MiB"
    only out err
    # The result finds room, but not what is between passes besides.
    free=$(df --output=avail -B1 . | tail -1)
    sparse 256 256 $((free * 2 / 5 / 256 / 256 / 2)) long.mrc 2>/dev/null || return 0
    least -f perona-malik:iterations=50:k=10 long.mrc o.mrc
    expect 1 --dry-run --memory $((LEAST + 6))M -f perona-malik:iterations=50:k=10 long.mrc o.mrc
    says " MiB of it for temporary files), but "
    rm long.mrc
    sparse 8192 8192 65536 huge.mrc 2>/dev/null || return 0
    [ "$(df --output=avail -B1G . | tail -1)" -lt 8192 ] || return 0
    expect 1 --memory 2G -f gaussian --dry-run huge.mrc o.mrc
    says "o.mrc: the result needs 8388608"
    # How much of it is left when it is compressed is not known.
    expect 0 --memory 2G -f gaussian --dry-run --explain --compress lzw huge.mrc o.tif
    prints "the result is compressed: whether the disk has room for it is not known"
    prints "MiB in all, uncompressed"
    only huge.mrc out err
}

test_a_signal_ends_it() {
    sparse 512 512 200 big.mrc
    least -f ced:iterations=500 big.mrc o.tif
    interruptible --threads 2 --memory $((LEAST + 8))M -f ced:iterations=500 big.mrc o.tif 2>err &
    child=$!
    computes "$child"
    kill -INT $child
    code=0
    wait $child || code=$?
    [ "$code" -eq 130 ]
    # With sanitizers a slab may take longer than is waited for, which has its own words.
    if is_sanitized; then
        says "interrupted; nothing"
    else
        says "interrupted; nothing was written to o.tif"
    fi
    rm -f out
    only big.mrc err
}

test_allocations_may_fail_in_slabs() {
    chain=gaussian
    expect 0 -f $chain "$STACK" good.tif
    least -f $chain "$STACK" o.tif
    failed=0
    step=3
    ! is_sanitized || step=7
    # The plan's search does without some of them.
    for failing in $(seq 1 $step 400); do
        code=0
        VOLFILTER_FAIL_ALLOC=$failing "$VOLFILTER" --memory "${LEAST}M" --threads 1 -f $chain "$STACK" o.tif \
            >out 2>err || code=$?
        if [ "$code" -ne 0 ]; then
            [ "$code" -eq 1 ]
            says "memory" || says "allocate"
            only good.tif out err
            failed=$((failed + 1))
        else
            same good.tif o.tif
            rm o.tif
        fi
    done
    [ $((failed * step)) -gt 150 ]
}

# Runs by the thousand in one pass: what is held of each is added up, not all of them again for each more.
test_planning_of_many_runs_takes_no_minutes() {
    sparse 16 16 300000 long.mrc
    for boundary in nearest wrap; do
        timeout 60 "$VOLFILTER" --dry-run --backend cpu --memory 100G --boundary $boundary \
            -f eed:iterations=3000:k=3:sigma=9:rho=9 long.mrc o.mrc
    done
}
