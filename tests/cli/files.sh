# Files that cannot be read or written: exit status 1, a message with the name, no output, nothing old lost.
# shellcheck shell=sh

# refused NAME [TEXT]: filtering NAME fails, says its name (and TEXT), and keeps the old output.
refused() {
    echo old >old.tif
    before=$(names .)
    expect 1 -f gaussian "$1" old.tif
    says "$1"
    says "${2:-$1}"
    [ "$(cat old.tif)" = old ]
    expect 1 -f gaussian "$1" new.tif
    [ ! -e new.tif ]
    expect 1 info "$1"
    says "$1"
    [ ! -s out ]
    rm -f out err
    [ "$(names .)" = "$before" ]
}

test_a_long_name_leaves_room_for_the_cause() {
    expect 1 -f gaussian "$(printf 'd/%.0s' $(seq 600))in.png" out.png
    says "d/d/in.png: cannot be read: No such file or directory"
}

test_missing_and_empty() {
    refused nowhere.tif
    : >empty.tif
    refused empty.tif
    refused nowhere/in.tif
}

test_directory() {
    mkdir d.tif
    refused d.tif "is a directory; name the files in it (all are filtered with --out-dir and --tree)"
    expect 2 -f gaussian "$SMALL" d.tif
    says "d.tif is a directory; use --out-dir d.tif"
    [ -d d.tif ]
    expect 1 -f gaussian "$SMALL" nowhere/o.tif
    says nowhere/o.tif
    [ ! -e nowhere ]
}

test_not_an_image() {
    echo "this is a text" >text.tif
    refused text.tif
    printf '\211PNG\r\n\032\n' >stub.png
    refused stub.png
    printf 'II*\0' >stub.tif
    refused stub.tif
}

test_truncated() {
    for percent in 5 50 99; do
        size=$(wc -c <"$STACK")
        head -c $((size * percent / 100)) "$STACK" >cut.tif
        refused cut.tif
        rm -f cut.tif
    done
    for percent in 5 50 99; do
        size=$(wc -c <"$IMAGE")
        head -c $((size * percent / 100)) "$IMAGE" >cut.png
        echo old >old.png
        expect 1 -f gaussian cut.png old.png
        says "cut.png: row"
        says "it was cut short"
        [ "$(cat old.png)" = old ]
    done
}

# Of so little that nothing else tells what it was.
test_only_the_first_bytes() {
    head -c 3 "$STACK" >cut.tif
    refused cut.tif "cut.tif: has only the first 3 bytes of a TIFF: it was cut short; copy it again"
    printf 'II*' >cut.tif
    refused cut.tif "cut.tif: has only the first 3 bytes of a TIFF: it was cut short; copy it again"
    head -c 4 "$IMAGE" >cut.png
    refused cut.png "cut.png: has only the first 4 bytes of a PNG: it was cut short; copy it again"
    printf I >cut.tif
    refused cut.tif "cut.tif: is neither TIFF, PNG nor MRC (its first bytes are 49)"
    head -c 200 /dev/zero >cut.mrc
    refused cut.mrc "cut.mrc: is named as MRC, but ends within its header: it was cut short; copy it again"
    head -c 1024 /dev/zero >old.mrc
    refused old.mrc "old.mrc: is named as MRC, but has no \"MAP \" at byte 208"
}

test_corrupt() {
    # A checksum of the PNG's data no longer holds.
    size=$(wc -c <"$IMAGE")
    {
        head -c $((size / 2)) "$IMAGE"
        printf 'XXXXXXXXXXXXXXXX'
        tail -c +$((size / 2 + 17)) "$IMAGE"
    } >bad.png
    expect 1 -f gaussian bad.png o.png
    says bad.png
    [ ! -e o.png ]
}

test_impossible_sizes() {
    tiff 0 8 >zero-width.tif
    tiff 8 0 >zero-height.tif
    tiff 4294967295 4294967295 >huge.tif
    tiff 2147483647 2147483647 >large.tif
    tiff 100000 100000 >short.tif
    for name in zero-width zero-height huge large short; do
        expect 1 -f gaussian $name.tif o.tif
        says $name.tif
        [ ! -e o.tif ]
    done
    tiff 8 8 >fine.tif
    expect 0 -f gaussian fine.tif o.tif
    has o.tif nx 8
}

test_unsupported_layouts_say_what_they_are() {
    tiff 8 8 1 1 >bits.tif
    tiff 8 8 8 5 >cmyk.tif
    for name in bits cmyk; do
        expect 1 -f gaussian $name.tif o.tif
        says $name.tif
        [ ! -e o.tif ]
    done
}

test_unreadable() {
    [ "$(id -u)" -ne 0 ] || return 0
    cp "$SMALL" secret.png
    chmod 000 secret.png
    expect 1 -f gaussian secret.png o.png
    says secret.png
    mkdir locked
    chmod 555 locked
    expect 1 -f gaussian "$SMALL" locked/o.png
    says locked/o.png
}

test_unknown_output_endings() {
    wrong "o.jpg: the extension names no output format; allowed: .tif, .tiff, .png, .mrc" -f gaussian "$SMALL" o.jpg
    wrong "o: the extension names no output format" -f gaussian "$SMALL" o
    wrong "o.jpg: the extension names no output format" -f gaussian "$SMALL" "$(printf '%01400d' 0 | tr 0 /)o.jpg"
    : >empty
    expect 2 -f gaussian "$SMALL" empty
    says "empty: the extension names no output format"
}

test_full_disk() {
    [ -w /dev/full ] || return 0
    code=0
    "$VOLFILTER" -f gaussian "$SMALL" - >/dev/full 2>err || code=$?
    [ "$code" -eq 1 ]
    says "standard output"
}

# ulimit -f counts blocks of 512 bytes.
test_a_limit_of_file_sizes_is_an_error() {
    (ulimit -f 1000 && expect 1 -f gaussian "$STACK" out.tif)
    says "out.tif: "
    says "File too large for its file system, or for the limit that ulimit -f shows"
    only out err
    (ulimit -f 1000 && "$VOLFILTER" -f gaussian "$STACK" - 2>err) | cat >out
    says "standard output: a temporary copy of it (TMPDIR sets the directory): "
    [ ! -s out ]
}

test_a_limit_of_open_files_is_an_error() {
    code=0
    # shellcheck disable=SC3045
    (exec 2>err && ulimit -n 4 && exec "$VOLFILTER" -f gaussian "$SMALL" o.png) || code=$?
    [ "$code" -eq 1 ]
    says "Too many open files (ulimit -n raises the limit)"
    only err
}

# ulimit -s counts KiB; dash has it, too.
test_a_small_stack_is_an_error() {
    # shellcheck disable=SC3045
    (ulimit -s 128 && expect 1 -f gaussian "$SMALL" out.png)
    says "the stack is limited to 128 KiB, but needs 512: ulimit -s 512"
    only out err
}

# Found out before the image is filtered.
test_a_name_that_cannot_be() {
    name=$(printf '%0260d' 0).png
    expect 1 -f gaussian "$SMALL" "$name"
    says "$name: cannot be created: File name too long"
    only out err
}

test_root_keeps_owners() {
    cp "$SMALL" mine.png
    chown 12345:12346 mine.png 2>/dev/null || return 0
    chmod 640 mine.png
    expect 0 -f gaussian mine.png mine.png
    [ "$(stat -c '%u %g %a' mine.png)" = "12345 12346 640" ]
}

test_output_over_input() {
    cp "$STACK" both.tif
    expect 0 -f gaussian both.tif expected.tif
    expect 0 -f gaussian both.tif both.tif
    same both.tif expected.tif
    ln -s both.tif link.tif
    expect 0 -f gaussian both.tif again.tif
    expect 0 -f gaussian link.tif link.tif
    same link.tif again.tif
    only both.tif link.tif expected.tif again.tif out err
}

test_other_formats_by_name() {
    expect 0 -f gaussian "$IMAGE" o.TIF
    has o.TIF format TIFF
    expect 0 -f gaussian "$SMALL" o.tiff
    expect 0 -f gaussian o.tiff o.png
    has o.png format PNG
    expect 0 -f gaussian:sigma=0 "$SMALL" copy.tif
    expect 0 -f gaussian:sigma=0 copy.tif copy.png
    has copy.png type uint8
    expect 1 -f gaussian "$STACK" o2.png
    says PNG
    [ ! -e o2.png ]
    expect 0 -f gaussian "$DATA/head-mri-plain.tif" o.ome.tif
    says "the result is not OME-TIFF, as the input is not"
}

test_what_plain_tiff_cannot_store() {
    with_alpha 9 8 2 >alpha.tif
    expect 0 -f gaussian --spacing 1x1x2um alpha.tif o.tif
    says "the distance between planes (only ImageJ TIFF, OME-TIFF and MRC can store it)"
    expect 0 -f gaussian --slices --spacing 1x1um alpha.tif o.tif
    silent
}

# Sizes whose resolution readers take for none, and one that is no fraction of 32 bits.
test_voxel_sizes_that_a_resolution_cannot_state() {
    for size in 10mm 12x10mm 0.3527777777mm; do
        expect 0 -f gaussian --spacing $size "$SMALL" a.png
        silent
        "$VOLFILTER" info a.png | grep -q '^  spacing  *[0-9.]* x [0-9.]* x ? um$'
        expect 0 -f gaussian a.png b.tif
        says "a.png: not kept: its voxel size (only OME-TIFF and MRC can store it)"
    done
    # ImageJ's have a unit of their own.
    expect 0 -f gaussian --spacing 10mm "$STACK" a.tif
    silent
    "$VOLFILTER" info a.tif | grep -q '^  spacing  *10 x 10 x 10 mm$'
    expect 0 -f gaussian a.tif b.tif
    silent
    for result in a.png b.tif; do
        expect 0 -f gaussian --spacing 0.001A "$SMALL" $result
        says "not kept: its voxel size"
    done
}

test_stack_keeps_what_it_says() {
    expect 0 -f gaussian "$STACK" o.tif
    for key in nx ny nz channels time_points type metadata unit compression big_endian pages; do
        has o.tif $key "$(field "$STACK" $key)"
    done
    "$VOLFILTER" info --json "$STACK" | grep '"spacing"' >spacing
    "$VOLFILTER" info --json o.tif | grep '"spacing"' | diff spacing -
}

test_time_and_colour() {
    expect 0 -f gaussian "$DATA/epi-time.tif" o.tif
    has o.tif time_points 2
    has o.tif nz 24
    expect 0 -f gaussian "$DATA/retina-rgb.tif" rgb.tif
    has rgb.tif page_channels 3
    expect 0 -f gaussian "$DATA/retina-rgb.png" rgb.png
    has rgb.png page_channels 3
    expect 0 -f gaussian "$DATA/epi-slice-16bit.png" deep.png
    has deep.png type uint16
}

test_info() {
    expect 0 info "$STACK"
    prints "128 x 128 x 62"
    prints "ImageJ"
    prints "2 x 2 x 3 mm"
    prints "uint16"
    expect 0 info - <"$SMALL"
    prints "102 x 102 x 1"
    expect 3 info "$SMALL" nowhere.tif "$IMAGE"
    says nowhere.tif
    prints "550 x 660"
    expect 0 info --json "$IMAGE"
    prints '"format": "PNG"'
    prints '"nx": 550'
    prints '"note": null'
    tiff 4 4 12 >packed.tif
    expect 0 info packed.tif
    prints "uint16, stored in 12 bits"
}

# word NUMBER..., little-endian.
words() {
    for number in "$@"; do
        le32 "$number"
    done
}

# mrc MODE SPACE_GROUP INTERVALS: 4 x 3 x 2 sections of 12 bytes, voxels of 20 A (the cell is 80 x 60 x 40 A).
mrc() {
    words 4 3 2 "$1" 0 0 0 4 3 "$3" 1117782016 1114636288 1109393408 1119092736 1119092736 1119092736 1 2 3 0 0 0 "$2" 0
    head -c 112 /dev/zero
    printf 'MAP DD\0\0'
    head -c 808 /dev/zero
    printf '0123456789abcdefghijklmn'
}

test_mrc() {
    mrc 0 1 2 >v.mrc
    [ "$(wc -c <v.mrc)" -eq 1048 ]
    expect 0 info v.mrc
    prints "MRC"
    prints "4 x 3 x 2"
    prints "20 x 20 x 20 A"
    prints "one volume, little-endian"
    expect 0 -f gaussian:sigma=0 v.mrc same.rec
    tail -c 24 same.rec >data
    printf '0123456789abcdefghijklmn' | cmp - data
    mrc 0 401 1 >volumes.map
    has volumes.map time_points 2
    has volumes.map nz 1
    mrc 0 0 2 >tilts.st
    has tilts.st image_stack true
    expect 0 -f gaussian tilts.st o.st
    says "--slices"
    expect 0 --slices -f gaussian tilts.st o.st
    silent
    expect 0 --slices -f gaussian tilts.st o.preali
    expect 0 --slices -f gaussian "$DATA/head-mri-plain.tif" slices.mrc
    has slices.mrc image_stack true
    expect 0 --slices --spacing 1nm -f gaussian "$DATA/head-mri-plain.tif" slices.mrc
    has slices.mrc image_stack true
    expect 0 --slices --spacing 1x1x3nm -f gaussian "$DATA/head-mri-plain.tif" slices.mrc
    has slices.mrc image_stack false
    # A volume that says how far its planes are apart is one still.
    expect 0 --slices -f gaussian "$STACK" slices.mrc
    silent
    has slices.mrc image_stack false
    "$VOLFILTER" info slices.mrc >out
    prints "2e+07 x 2e+07 x 3e+07 A"
    # 20000 images in a cell of one section: no voxel is 20000 times as long as it is wide.
    {
        words 4 3 20000 0 0 0 0 4 3 1 1117782016 1114636288 1220739072 1119092736 1119092736 1119092736 1 2 3 0 0 0 0 0
        head -c 112 /dev/zero
        printf 'MAP DD\0\0'
        head -c 240808 /dev/zero
    } >particles.mrc
    expect 0 --slices -f gaussian:sigma=40A particles.mrc p.mrc
    silent
    expect 0 -f gaussian particles.mrc p.mrc
    says "filtered as one volume; --slices filters each image by itself"
    expect 1 -f gradient:output=components v.mrc o.mrc
    says "one channel"
    expect 2 --compress zstd -f gaussian v.mrc o.mrc
    says "o.mrc: MRC is not compressed; leave out --compress, or write a .tif"
    [ ! -e o.mrc ]
    expect 0 --compress none -f gaussian v.mrc none.mrc
    expect 1 --dtype float64 -f gaussian v.mrc o.mrc
    says "--dtype float32"
    expect 0 -f gradient:output=components v.mrc o.tif
    has o.tif channels 3
    has o.tif metadata ImageJ
    mrc 4 0 2 >complex.mrc
    expect 1 info complex.mrc
    says complex
}

# What keeps the input's type keeps float16; what makes float32 makes that.
test_mrc_of_half_floats() {
    expect 0 -f gaussian --dtype uint16 "$SMALL" half.mrc
    byte 12 | dd of=half.mrc bs=1 seek=12 conv=notrunc 2>err
    has half.mrc half_floats true
    expect 0 info half.mrc
    prints "float32, stored as float16"
    expect 0 --explain -f gaussian half.mrc keeps.mrc
    grep -q '^output keeps.mrc: .*, float32, stored as float16$' out
    has keeps.mrc half_floats true
    for chain in gradient gradient,gaussian; do
        expect 0 -f "$chain" half.mrc makes.mrc
        has makes.mrc half_floats false
    done
}

# each_allocation_fails OUT CHAIN: until many in a row did nothing, as plans can do without some.
each_allocation_fails() {
    good=good${1#o}
    expect 0 -f "$2" --threads 1 --dtype uint8 "$SMALL" "$good"
    failing=1
    wholes=0
    while [ $wholes -lt 20 ]; do
        code=0
        VOLFILTER_FAIL_ALLOC=$failing "$VOLFILTER" -f "$2" --threads 1 --dtype uint8 "$SMALL" "$1" \
            >out 2>err || code=$?
        if [ "$code" -ne 0 ]; then
            [ "$code" -eq 1 ]
            says "memory" || says "allocate"
            test "$(grep -c damaged err)" -eq 0
            only "$good" out err
            wholes=0
        else
            same "$good" "$1"
            rm "$1"
            wholes=$((wholes + 1))
        fi
        failing=$((failing + 1))
        [ $failing -lt 1000 ]
    done
    [ $failing -gt 60 ]
    rm "$good"
}

test_every_allocation_may_fail() {
    each_allocation_fails o.png gaussian,gradient
    each_allocation_fails o.tif hessian:output=components:sigma=0
}

# What cannot be planned is no plan that takes no time, or no memory.
test_plans_are_whole_where_allocations_fail() {
    for failing in $(seq 1 90); do
        VOLFILTER_FAIL_ALLOC=$failing "$VOLFILTER" --explain --dry-run --json --backend cpu --threads 1 \
            -f gaussian,gradient "$SMALL" o.png >out 2>err || continue
        if grep -E '"predicted_seconds": 0,|"work_bytes": -|: -?inf' out; then
            echo "allocation $failing"
            return 1
        fi
    done
}

# ---- results that are right to the last byte, or not there ----

test_full_disk_at_the_end_of_a_png() {
    message=$(ulimit -f 1 && "$VOLFILTER" -f mean:radius=0 "$SMALL" o.png 2>&1) && return 1
    [ "$message" = "volfilter: o.png: cannot be written: File too large for its file system, or for the limit that ulimit -f shows" ]
    [ ! -e o.png ]
}

# Values that float32 does not have.
test_large_integers_are_computed_in_double() {
    expect 0 -f mean:radius=0 --dtype uint32 "$SMALL" a.tif
    at=$(wc -c <a.tif)
    at=$((at / 2 - at / 2 % 4))
    for byte in '\001' '\000' '\000' '\001' '\377' '\377' '\377' '\377'; do
        # shellcheck disable=SC2059
        printf "$byte" | dd of=a.tif bs=1 seek=$at conv=notrunc status=none
        at=$((at + 1))
    done
    expect 0 -f mean:radius=0 --compress none a.tif b.tif
    same a.tif b.tif
}

# Noise takes more room than it has pixels.
test_noise_through_every_compression() {
    head -c 262144 /dev/urandom >noise
    expect 0 -f mean:radius=0 --dtype uint8 --compress none "$IMAGE" a.tif
    offset=$(($(wc -c <a.tif) - $(wc -c <a.tif) / 2))
    dd if=noise of=a.tif bs=1 seek=1000 count=$((offset - 2000)) conv=notrunc status=none
    for compression in lzw deflate zstd none; do
        expect 0 -f mean:radius=0 --compress $compression a.tif b.tif
        expect 0 -f mean:radius=0 --compress none b.tif c.tif
        same a.tif c.tif
    done
}

# The word at byte $2 of an MRC.
word() {
    od -A n -t d4 -j "$2" -N 4 "$1" | tr -d ' '
}

test_headers_of_new_mrc() {
    sparse 8 8 4 s.mrc
    expect 0 -f mean:radius=0 s.mrc a.tif
    expect 0 -f mean:radius=0 a.tif a.mrc
    [ "$(word a.mrc 88)" -eq 1 ]
    expect 0 -f mean:radius=0 "$IMAGE" b.mrc
    [ "$(word b.mrc 88)" -eq 0 ]
    # Of a half-precision file; another type is asked for.
    { head -c 12 s.mrc && printf '\014\0\0\0' && tail -c +17 s.mrc; } >half.mrc
    expect 0 -f mean:radius=0 half.mrc c.mrc
    [ "$(word c.mrc 12)" -eq 12 ]
    expect 0 -f mean:radius=0 --dtype float32 half.mrc d.mrc
    [ "$(word d.mrc 12)" -eq 2 ]
}
