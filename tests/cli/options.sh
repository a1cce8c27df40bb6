# Every option that changes what is done or said.
# shellcheck shell=sh

test_plain_run_is_silent() {
    expect 0 -f gaussian "$IMAGE" o.png
    silent
    only o.png out err
    has o.png type uint8
    has o.png nx 550
    has o.png ny 660
}

test_chain_spellings_agree() {
    expect 0 -f gaussian:sigma=2,gradient:sobel "$STACK" a.tif
    for chain in gaussian:2,gradient=sobel gaussian=sigma=2,gradient=method=sobel "gaussian:2, gradient:method=sobel"; do
        expect 0 -f "$chain" "$STACK" b.tif
        same a.tif b.tif
    done
    expect 0 -f gaussian:2 "$STACK" b.tif --filter=gradient:sobel
    same a.tif b.tif
    expect 0 -f gradient:sobel -f gaussian:2 "$STACK" b.tif
    differ a.tif b.tif
}

test_threads_change_nothing() {
    expect 0 -f gaussian,eed:iterations=2 --threads 1 "$STACK" a.tif
    expect 0 -f gaussian,eed:iterations=2 --threads 2 "$STACK" b.tif
    expect 0 -f gaussian,eed:iterations=2 --threads 3 --backend cpu "$STACK" c.tif
    same a.tif b.tif
    same a.tif c.tif
}

test_schemes_change_nothing() {
    expect 0 -f gaussian,gradient --scheme reference "$STACK" a.tif
    expect 0 -f gaussian,gradient --scheme row-stream "$STACK" b.tif
    expect 0 -f gaussian,gradient --backend auto "$STACK" c.tif
    same a.tif b.tif
    same a.tif c.tif
}

test_vector_levels_change_nothing() {
    expect 0 -f gaussian,gradient "$STACK" a.tif
    VOLFILTER_ISA=baseline "$VOLFILTER" -f gaussian,gradient "$STACK" b.tif
    same a.tif b.tif
}

test_vector_level_that_is_not_there() {
    VOLFILTER_ISA=mmx expect 0 -f gaussian --out-dir d "$IMAGE" "$SMALL" "$STACK"
    says "VOLFILTER_ISA=mmx is no level (baseline, v3 or v4) of this processor; "
    [ "$(wc -l <err)" -eq 1 ]
    VOLFILTER_ISA=mmx expect 0 --quiet -f gaussian "$IMAGE" o.png
    silent
    VOLFILTER_ISA='' expect 0 -f gaussian "$IMAGE" o.png
    silent
}

test_boundaries() {
    for rule in nearest reflect mirror constant constant=100 wrap; do
        expect 0 -f gaussian:sigma=3 --boundary $rule "$SMALL" "$rule.png"
    done
    expect 0 -f gaussian:sigma=3 "$SMALL" default.png
    same default.png nearest.png
    for rule in reflect mirror constant constant=100 wrap; do
        differ nearest.png "$rule.png"
    done
    differ constant.png constant=100.png
    differ reflect.png mirror.png
}

test_spacing_and_units() {
    expect 0 -f gaussian:sigma=2x2x3mm "$STACK" a.tif
    expect 0 -f gaussian:sigma=1 "$STACK" b.tif
    same a.tif b.tif
    expect 0 -f gaussian:sigma=2000um --spacing 2x2x2mm "$STACK" c.tif
    expect 0 -f gaussian:sigma=1 --spacing 2x2x2mm "$STACK" d.tif
    same c.tif d.tif
    # Derivatives know that voxels are not cubes, unless they are said to be.
    expect 0 -f gradient "$STACK" e.tif
    expect 0 -f gradient --spacing 1x1x1 "$STACK" f.tif
    differ e.tif f.tif
    # What is said of x and y leaves the file's z as it is, in whatever unit.
    expect 0 -f gaussian --spacing 2000x2000um "$STACK" g.tif
    "$VOLFILTER" info g.tif >out
    prints "2000 x 2000 x 3000 um"
    expect 0 -f gaussian --spacing 2x2x3nm "$STACK" nm.tif
    "$VOLFILTER" info nm.tif >out
    prints "2 x 2 x 3 nm"
    # Without a unit it is no size that a result could have.
    "$VOLFILTER" info f.tif >out
    prints "2 x 2 x 3 mm"
    # The filters take it to be in the file's unit.
    expect 0 -f gaussian:sigma=2mm --spacing 1x1x2 "$STACK" own.tif
    expect 0 -f gaussian:sigma=2x2x1 "$STACK" voxels.tif
    same own.tif voxels.tif
    LC_ALL=C sed 's/unit=mm/unit=px/' "$DATA/epi-time.tif" >px.tif
    expect 0 -f gaussian --spacing 1x1x3 px.tif h.tif
    "$VOLFILTER" info h.tif >out
    prints "1 x 1 x 3 (no unit)"
    # Of a plain stack ImageJ's is made, which can say how far planes are apart.
    expect 0 -f gaussian --spacing 2x2x3mm "$DATA/head-mri-plain.tif" plain.tif
    silent
    has plain.tif metadata ImageJ
    "$VOLFILTER" info plain.tif >out
    prints "2 x 2 x 3 mm"
    expect 0 -f gaussian --spacing 2x2mm "$DATA/head-mri-plain.tif" plain.tif
    has plain.tif metadata plain
    # MRC's are angstroms.
    expect 0 -f gaussian --spacing 13A "$STACK" a.mrc
    expect 0 -f gaussian:sigma=20A a.mrc own.mrc
    expect 0 -f gaussian:sigma=20A --spacing 13 a.mrc given.mrc
    same own.mrc given.mrc
    # Angstroms are tenths of nanometres.
    expect 0 -f gaussian:sigma=4nm --spacing 2nm "$IMAGE" nm.png
    expect 0 -f gaussian:sigma=40A --spacing 20Å "$IMAGE" angstrom.png
    same nm.png angstrom.png
    expect 0 --dry-run --explain -f gaussian --spacing 2x2um "$IMAGE" h.png
    prints "voxel aspect 1x1 (2x2 um)"
    # Files round what is equal: a float of MRC, six decimals of ImageJ.
    expect 0 --dry-run --explain --json -f gaussian --spacing 3.42x3.41997x3.4200004A "$STACK" h.tif
    prints '"aspect": [1, 1, 1]'
    expect 0 --dry-run --explain --json -f gaussian --spacing 1x1x1.0001 "$STACK" h.tif
    prints '"aspect": [1, 1, 1.0001]'
    expect 2 -f gaussian --spacing 1x1x100000 "$STACK" h.tif
    says "head-mri.tif: voxels 100000 times as long along z as along x are implausible"
    expect 0 --dry-run -f gaussian --spacing 5e-6A "$STACK" h.tif
}

test_explain_knows_which_stages_are_side_by_side() {
    expect 0 --dry-run --explain -f gradient:method=sobel "$STACK" a.tif
    prints "stages SY SZ DX SX SZ DY SX SY DZ MAG, halo 1x1x1"
    expect 0 --dry-run --explain -f gradient "$STACK" a.tif
    prints "run 1: gradient, 1 stage in one sweep"
}

test_slices() {
    expect 0 -f gaussian:sigma=2 --slices "$STACK" a.tif
    expect 0 -f gaussian:sigma=2x2x0 "$STACK" b.tif
    expect 0 -f gaussian:sigma=2 "$STACK" c.tif
    same a.tif b.tif
    differ a.tif c.tif
}

# A derivative that is smoothed is as often negative as before.
test_what_follows_a_derivative_keeps_its_type() {
    expect 0 -f gradient:output=x,gaussian,perona-malik:k=5:iterations=1 "$STACK" a.tif
    has a.tif type float32
    expect 0 -f gaussian,perona-malik:k=5:iterations=1 "$STACK" b.tif
    has b.tif type uint16
    expect 0 -f gradient,gaussian "$SMALL" c.png
    says "gradient gives float32, but PNG holds integers"
    # Nothing is said of a result that cannot be.
    expect 1 -f hessian "$SMALL" d.png
    says "PNG holds 1 channel (grey) or 3 (RGB); the result has 2: write a .tif"
    [ "$(wc -l <err)" -eq 1 ]
}

test_dtype() {
    for type in uint8 int8 uint16 int16 uint32 int32 float32 float64; do
        expect 0 -f gaussian --dtype $type "$STACK" $type.tif
        has $type.tif type $type
    done
    expect 0 -f gaussian "$STACK" a.tif
    has a.tif type uint16
    expect 0 -f gradient "$STACK" a.tif
    has a.tif type float32
    expect 0 -f gradient --dtype uint8 "$SMALL" a.png
    has a.png type uint8
}

test_float_result_into_png_is_rounded_with_a_note() {
    expect 0 -f gradient "$SMALL" o.png
    says "rounded and saturated to uint8, negative ones to 0 (--dtype changes the type"
    has o.png type uint8
    expect 0 -q -f gradient "$SMALL" o.png
    silent
    expect 1 -f gradient --dtype float32 "$SMALL" p.png
    says "PNG"
    [ ! -e p.png ]
}

test_fractions_in_integers_are_noted() {
    for output in coherence orientation; do
        expect 0 -f structure-tensor:output=$output,gaussian --dtype uint8 "$SMALL" o.tif
        says "between -2 and 2 here, of which uint8 keeps whole ones alone"
    done
    expect 0 -f structure-tensor:output=linear --dtype uint8 "$STACK" o.tif
    says "between -2 and 2 here, of which uint8 keeps whole ones alone"
    expect 0 -f structure-tensor:output=coherence "$SMALL" o.png
    says "between -2 and 2 here, of which uint8 keeps whole ones alone"
    expect 0 -f structure-tensor:output=coherence "$SMALL" o.tif
    silent
    expect 0 -f structure-tensor --dtype uint8 "$SMALL" o.tif
    silent
}

test_precision() {
    expect 0 -f gaussian --dtype float64 "$SMALL" a.tif
    expect 0 -f gaussian --dtype float64 --precision single "$SMALL" b.tif
    expect 0 -f gaussian --dtype float64 --precision float "$SMALL" c.tif
    expect 0 -f gaussian --dtype float64 --precision double "$SMALL" d.tif
    same a.tif b.tif
    same a.tif c.tif
    differ a.tif d.tif
    # Sums of more than 512 voxels, or of 256 along an axis by one weight, are made in double, and those whose weights
    # do not fit.
    LC_ALL=C seq 0.1 0.1 52.9 | paste -sd "$(printf ' %.0s' $(seq 22))\n" >table.txt
    echo 1e-50 2e-50 1e-50 >small.txt
    yes "$(yes 1 | head -n 17 | tr '\n' ' ')" | head -n 17 >ones.txt
    for chain in mean:radius=127 convolve:ones.txt; do
        expect 0 -f $chain --dtype float64 "$SMALL" a.tif
        expect 0 -f $chain --dtype float64 --precision single "$SMALL" b.tif
        same a.tif b.tif
    done
    for chain in convolve:table.txt mean:radius=0x128x0 gradient,gaussian:sigma=65:truncate=4; do
        expect 0 -f $chain --dtype float64 "$SMALL" a.tif
        expect 0 -f $chain --dtype float64 --precision single "$SMALL" b.tif
        expect 0 -f $chain --dtype float64 --precision double "$SMALL" d.tif
        same a.tif d.tif
        differ a.tif b.tif
        expect 0 -f $chain --explain --dry-run "$SMALL" o.tif
        prints "computes in float64"
    done
    expect 0 -f convolve:small.txt --dtype float64 "$SMALL" a.tif
    expect 2 -f convolve:small.txt --dtype float64 --precision single "$SMALL" b.tif
    says "all weights round to 0 in float32"
}

test_compress() {
    expect 0 -f gaussian "$STACK" input.tif
    has input.tif compression "$(field "$STACK" compression)"
    for name in none lzw deflate; do
        expect 0 -f gaussian --compress $name "$STACK" $name.tif
        has $name.tif compression $name
        "$VOLFILTER" -f gaussian:sigma=0 --compress none $name.tif plain-$name.tif
        same plain-none.tif plain-$name.tif
    done
    expect 0 -f gaussian --compress zstd "$STACK" zstd.tif
    has zstd.tif compression zstd
    [ "$(wc -c <lzw.tif)" -lt "$(wc -c <none.tif)" ]
}

test_memory() {
    expect 0 -f gaussian "$STACK" a.tif
    expect 0 -f gaussian --memory 1G "$STACK" b.tif
    same a.tif b.tif
}

test_no_clobber() {
    echo old >o.png
    expect 1 -f gaussian --no-clobber "$SMALL" o.png
    says "o.png"
    [ "$(cat o.png)" = old ]
    only o.png out err
    expect 0 -f gaussian --no-clobber "$SMALL" new.png
    expect 0 -f gaussian --sync "$SMALL" o.png
    same new.png o.png
}

test_explain() {
    expect 0 -f gaussian,gradient --explain "$STACK" o.tif
    [ -s out ]
    [ -s o.tif ]
    prints "GX"
    for chain in gaussian:2,gradient eed:rho=1 perona-malik:k=p90 and; do
        expect 0 -f $chain --explain --dry-run "$STACK" p.tif
        [ -s out ]
        [ ! -e p.tif ]
    done
}

# A width that does nothing is said once of all files, and in the plan; 0 asks for it.
test_gaussians_that_smooth_nothing_are_said() {
    note="gaussian: a Gaussian of sigma 0.1 voxels, cut off at 4 sigma, reaches no neighbour and smooths nothing"
    cp "$SMALL" a.png
    cp "$SMALL" b.png
    expect 0 -f gaussian:sigma=0.1 --out-dir d a.png b.png
    says "a.png: $note"
    says "volfilter: the same for 1 more file: $note"
    [ "$(wc -l <err)" -eq 2 ]
    expect 0 --dry-run --explain -f gaussian:sigma=0.1,median a.png o.png
    prints "    ${note#gaussian: }"
    expect 0 --dry-run --explain --json -f gaussian:sigma=0.1,median a.png o.png
    prints "\"note\": \"${note#gaussian: }"
    expect 0 -f gaussian:sigma=0 a.png o.png
    silent
}

# Medians of small integers stay what they are, from file to file; nothing else does.
test_explain_says_what_is_computed_in() {
    expect 0 -f median,median --explain "$STACK" o.tif
    prints "computes in uint16"
    expect 0 -f median --explain --json --dry-run "$IMAGE" o.tif
    prints '"compute": "uint8"'
    expect 0 -f median --dtype float32 --explain --dry-run "$STACK" o.tif
    prints "computes in uint16"
    for chain in gaussian median,gaussian 'median --scheme reference' \
        'median,median --scheme row-stream:tile=128x128x62:cut=MED/8'; do
        # shellcheck disable=SC2086
        expect 0 --explain --dry-run -f $chain "$STACK" o.tif
        prints "computes in float32"
    done
    expect 0 -f gaussian --precision double --explain --dry-run "$STACK" o.tif
    prints "computes in float64"
}

test_explain_json() {
    expect 0 -f gaussian,gradient --json --dry-run "$STACK" o.tif
    is_json out
    expect 0 -f gaussian,gradient --explain --json --dry-run "$STACK" o.tif
    [ ! -e o.tif ]
    is_json out
    expect 0 -f gaussian --json "$STACK" o.tif
    is_json out
    [ -s o.tif ]
    least -f perona-malik,eed "$STACK" o.tif
    expect 0 -f perona-malik,eed --memory "${LEAST}M" --explain --json --dry-run "$STACK" o.tif
    is_json out
    prints '"global_values": ["k"]'
    prints '"from_image": true'
    prints '"slab_of": "planes"'
    prints '"temporary_bytes": '
}

is_json() {
    if command -v python3 >/dev/null; then
        python3 -c 'import json, sys; assert isinstance(json.load(open(sys.argv[1])), dict)' "$1"
    else
        [ "$(head -c 1 "$1")" = "{" ]
    fi
}

test_dry_run_checks_but_writes_nothing() {
    expect 0 -f gaussian --dry-run "$STACK" o.tif
    only out err
    expect 1 -f gaussian --dry-run nowhere.tif o.tif
    says "nowhere.tif"
    expect 1 -f gaussian --dry-run "$STACK" nodir/o.tif
    says "nodir/o.tif: cannot create a file"
    printf x >old.tif
    expect 1 -f gaussian --dry-run --no-clobber "$STACK" old.tif
    says "old.tif: exists"
    rm old.tif
    mkfifo pipe.tif
    expect 0 -f gaussian --dry-run "$STACK" pipe.tif
    rm pipe.tif
    expect 2 -f perona-malik:dt=0.24 --dry-run "$STACK" o.tif
    says "dt"
    expect 2 -f gaussian --dry-run --compress lzw "$IMAGE" o.png
    says "o.png: PNG is always compressed with deflate"
    expect 2 -f gaussian --dry-run --compress lzw "$SMALL" o.mrc
    says "o.mrc: MRC is not compressed"
    expect 0 -f gaussian --dry-run --out-dir d "$STACK"
    only out err
}

test_quiet_and_verbose() {
    expect 0 -q -f gaussian "$STACK" a.tif
    silent
    expect 0 -v -f gaussian "$STACK" b.tif
    grep -qx "volfilter: $STACK: read [0-9.]* s, filtered [0-9.]* s on the CPU, written [0-9.]* s to b.tif" err
    expect 0 -v -f gaussian:sigma=0,perona-malik:iterations=1 "$DATA/epi-time.tif" k.tif
    says "epi-time.tif: channel 1: perona-malik k = 163.5"
    expect 0 -v -f gradient:output=components,perona-malik:iterations=1 "$STACK" k.tif
    for axis in x y z; do
        says "head-mri.tif: channel 1 $axis: perona-malik k = "
    done
    expect 0 -vv -f gaussian "$STACK" c.tif
    expect 0 --quiet --verbose -f gaussian "$STACK" d.tif
    same a.tif b.tif
    same a.tif d.tif
}

test_progress() {
    expect 0 --progress never -f gaussian "$STACK" o.tif
    silent
    expect 0 --progress auto -f gaussian "$STACK" o.tif
    silent
    expect 0 --progress always -f gaussian "$STACK" o.tif
    [ ! -s out ]
    says "volfilter: filtering: 100%, "
}

# One that takes a second to read is told of before.
test_progress_of_long_pages() {
    ! is_sanitized || return 0
    sparse 8192 8192 1 long.mrc
    expect 0 --progress json -f mean:radius=0 long.mrc o.mrc
    head -n 1 err | grep -q '"done": 0,'
    expect 0 --progress json -f mean:radius=0 "$STACK" o.mrc
    ! grep -q '"done": 0,' err
}

test_options_stand_anywhere() {
    expect 0 "$SMALL" -f gaussian --threads=1 o.png
    cp "$SMALL" ./-dash.png
    expect 0 -f gaussian -- -dash.png -o.png
    same ./-o.png o.png
}

# A number that no machine has is no reason to plan for as many.
test_threads_of_the_environment() {
    for pair in 1:1 3:3 2000000000:1024; do
        OMP_NUM_THREADS=${pair%:*} expect 0 --dry-run --explain -f gaussian "$STACK" o.tif
        prints "vector level $(sed -n 's/.*vector level \([^,]*\), .*/\1/p' out), ${pair#*:} thread"
    done
    OMP_THREAD_LIMIT=2 OMP_NUM_THREADS=3 expect 0 --dry-run --explain -f gaussian "$STACK" o.tif
    prints ", 2 threads"
    OMP_NUM_THREADS=3 expect 0 --threads 2 --dry-run --explain -f gaussian "$STACK" o.tif
    prints ", 2 threads"
}

# OpenMP binds the thread that starts the others to one place.
test_threads_have_all_places() {
    OMP_PROC_BIND=true "$VOLFILTER" -f ced:iterations=5000 "$STACK" o.tif &
    computes $!
    grep -h Cpus_allowed_list /proc/$!/task/*/status | sort -u >bound
    kill $!
    wait $! || :
    grep Cpus_allowed_list /proc/self/status >free
    same bound free
    unset OMP_NUM_THREADS
    expect 0 --dry-run --explain -f gaussian "$STACK" o.tif
    grep vector out >unbound
    OMP_PLACES=threads expect 0 --dry-run --explain -f gaussian "$STACK" o.tif
    grep vector out >bound
    same unbound bound
    OMP_PLACES="{$(sed 's/.*:[[:space:]]*//; s/[-,].*//' free)}" expect 0 --dry-run --explain -f gaussian "$STACK" o.tif
    prints ", 1 thread"
}

test_pages_of_which_nothing_is_said() {
    "$VOLFILTER" info "$DATA/head-mri-plain.tif" >out
    prints "62 pages of 1 channel, strips, little-endian, taken as planes along z (--slices"
    "$VOLFILTER" info "$STACK" >out
    [ "$(grep -c "along z" out)" -eq 0 ]
    expect 0 --explain --dry-run -f gaussian "$DATA/head-mri-plain.tif" o.tif
    prints "pages of the input are taken as planes along z (--slices"
    expect 0 --explain --dry-run --slices -f gaussian "$DATA/head-mri-plain.tif" o.tif
    [ "$(grep -c "along z" out)" -eq 0 ]
}

test_json_of_a_plan_is_one_object() {
    expect 0 --json --explain -f gaussian "$STACK" o.tif
    [ "$(grep -c '^{$' out)" -eq 1 ]
    prints '"vector_level"'
}

# What numbers stand for is said of a smoothed stack, and not of its gradient.
test_calibration() {
    LC_ALL=C sed 's/loop=false/c0=5\nc1=23/' "$STACK" >c.tif
    expect 0 -f gaussian c.tif o.tif
    silent
    grep -aq "c1=23" o.tif
    expect 0 -f gaussian,gradient --dtype "$(field c.tif type)" c.tif o.tif
    says "not kept: the calibration of its values (ImageJ; results are of the stored numbers)"
    [ "$(grep -ac "c1=23" o.tif)" -eq 0 ]
}

# The corner of this image is black.
test_noise_boxes_without_noise_are_said() {
    slice=$DATA/epi-slice-16bit.png
    expect 0 -f srad:noise=4x4+0+0:iterations=1 "$slice" o.png
    says "srad: q0 over the noise box is 0: the box has a single value, or no numbers"
    cp "$slice" a.png
    cp "$slice" b.png
    expect 0 -f srad:noise=4x4+0+0:iterations=1 --out-dir d a.png b.png
    says "volfilter: the same for 1 more file: srad: q0 over the noise box is 0"
    [ "$(wc -l <err)" -eq 2 ]
    expect 0 -q -f srad:noise=4x4+0+0:iterations=1 "$slice" o.png
    silent
    expect 0 -f srad:noise=8x8+30+30:iterations=1 "$slice" o.png
    silent
}
