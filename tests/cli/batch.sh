# Several files into a directory.
# shellcheck shell=sh

test_names() {
    expect 0 -f gaussian --out-dir d "$SMALL" "$IMAGE" "$STACK"
    silent
    [ "$(names d)" = "cell.png head-mri.tif microaneurysms.png" ]
    expect 0 -f gaussian "$IMAGE" one.png
    same one.png d/cell.png
    expect 0 -f gaussian --out-dir d/ --suffix _g "$SMALL"
    same d/microaneurysms_g.png d/microaneurysms.png
    cp "$SMALL" .hidden.png
    expect 0 -f gaussian --out-dir d --suffix -x .hidden.png
    [ -s d/.hidden-x.png ]
}

test_a_bad_file_does_not_stop_the_rest() {
    echo no >bad.tif
    expect 3 -f gaussian --out-dir d bad.tif "$SMALL" nowhere.tif "$IMAGE"
    says bad.tif
    says nowhere.tif
    says "2 of 4 files failed"
    [ "$(names d)" = "cell.png microaneurysms.png" ]
    expect 3 -f gaussian --out-dir d bad.tif nowhere.tif
    says "2 of 2 files failed"
    expect 1 -f gaussian --out-dir d bad.tif
    says bad.tif
}

test_same_output_names() {
    mkdir a b
    cp "$SMALL" a/x.png
    cp "$SMALL" b/x.png
    expect 2 -f gaussian --out-dir d a/x.png b/x.png
    says "'a/x.png' and 'b/x.png' would both be written to 'd/x.png'"
    [ ! -e d ]
    expect 2 -f gaussian --out-dir d a/x.png a/x.png
    [ ! -e d ]
}

test_an_output_never_replaces_another_input() {
    cp "$SMALL" x.png
    cp "$SMALL" x_g.png
    cp "$SMALL" keep.png
    expect 2 -f gaussian --out-dir . --suffix _g x.png x_g.png
    says "would replace 'x_g.png', which is an input too"
    same x_g.png keep.png
    # Its own input it may replace.
    expect 0 -f gaussian --out-dir . x.png x_g.png
    differ x.png keep.png
    same x.png x_g.png
}

test_the_directory() {
    echo file >d
    expect 1 -f gaussian --out-dir d "$SMALL"
    says "--out-dir=d: this is no directory"
    expect 1 -f gaussian --out-dir nowhere/d "$SMALL"
    says "--out-dir=nowhere/d: cannot make the directory"
    [ "$(cat d)" = file ]
}

test_what_has_no_name() {
    wrong "standard input has no name in --out-dir" -f gaussian --out-dir d -
    wrong "'x/' is a directory" -f gaussian --out-dir d x/
    wrong "'..' is a directory" -f gaussian --out-dir d ..
}

test_no_clobber() {
    mkdir d
    echo old >d/cell.png
    expect 3 -f gaussian --no-clobber --out-dir d "$IMAGE" "$SMALL"
    says "cell.png"
    says "1 of 2 files failed"
    [ "$(cat d/cell.png)" = old ]
    [ -s d/microaneurysms.png ]
}
