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

test_a_suffix_names_the_format() {
    expect 0 -f gradient --out-dir d --suffix .tif "$SMALL" "$IMAGE"
    silent
    [ "$(names d)" = "cell.tif microaneurysms.tif" ]
    has d/cell.tif type float32
    expect 0 -f gaussian --out-dir d --suffix -g.PNG "$DATA/retina-rgb.tif"
    has d/retina-rgb-g.PNG format PNG
    expect 0 -f gaussian --out-dir e --suffix .5 "$SMALL"
    [ "$(names e)" = "microaneurysms.5.png" ]
    cp "$SMALL" a.png
    cp "$DATA/retina-rgb.tif" a.tif
    expect 2 -f gaussian --out-dir e --suffix -g.tif a.png a.tif
    says "'a.png' and 'a.tif' would both be written to 'e/a-g.tif'; give a --suffix without an extension"
    expect 1 -f gaussian --no-clobber --out-dir . a.png
    [ "$(wc -l <err)" -eq 1 ]
    says "./a.png: exists"
}

test_a_bad_file_does_not_stop_the_rest() {
    echo no >bad.tif
    expect 3 -f gaussian --out-dir d bad.tif "$SMALL" nowhere.tif "$IMAGE"
    says bad.tif
    says nowhere.tif
    says "2 of 4 files failed"
    [ "$(names d)" = ".volfilter-done cell.png microaneurysms.png" ]
    expect 3 -f gaussian --out-dir d bad.tif nowhere.tif
    says "2 of 2 files failed"
    expect 1 -f gaussian --out-dir d bad.tif
    says bad.tif
}

test_messages_name_the_file() {
    expect 3 -f gaussian:sigma=3mm --out-dir d "$STACK" "$IMAGE"
    says "cell.png: gaussian: sigma=3mm needs the voxel size"
    expect 3 -f gaussian --memory 10M --out-dir d "$STACK" "$SMALL"
    says "head-mri.tif: the thinnest slab of this chain needs"
    expect 3 -f gradient:output=components --out-dir d "$STACK" "$DATA/retina-rgb.png"
    says "d/retina-rgb.png: PNG holds 1 channel (grey) or 3 (RGB); the result has 6"
}

# Hundreds of the same would hide the one that matters.
test_notes_are_told_once() {
    cp "$SMALL" a.png
    cp "$SMALL" b.png
    cp "$SMALL" c.png
    expect 0 -f gradient --out-dir d a.png b.png c.png "$DATA/head-mri-plain.tif"
    [ "$(wc -l <err)" -eq 2 ]
    says "d/a.png: gradient gives float32, but PNG holds integers"
    says "volfilter: the same for 2 more files: gradient gives float32, but PNG holds integers"
    expect 0 -v -f gradient --out-dir d a.png b.png
    says "d/a.png: gradient gives float32"
    says "d/b.png: gradient gives float32"
    expect 0 -q -f gradient --out-dir d a.png b.png
    silent
}

test_same_output_names() {
    mkdir a b
    cp "$SMALL" a/x.png
    cp "$SMALL" b/x.png
    expect 2 -f gaussian --out-dir d a/x.png b/x.png
    says "'a/x.png' and 'b/x.png' would both be written to 'd/x.png'"
    [ ! -e d ]
    expect 2 -f gaussian --out-dir d a/x.png a/x.png
    says "'a/x.png' and 'a/x.png' are the same file; name it once"
    [ ! -e d ]
    expect 2 -f gaussian --out-dir d --tree a ./a
    says "'a/x.png' and './a/x.png' are the same file; name it once"
    [ ! -e d ]
    mkdir -p d/a
    ln -s a d/b
    expect 2 -f gaussian --out-dir d --tree a/x.png b/x.png
    says "would both be written to 'd/"
    expect 2 -f gaussian --out-dir e/f --tree a/x.png "$PWD//a/./x.png" ./a//x.png
    says "name it once"
    [ ! -e e ]
    (cd b && expect 2 -f gaussian --out-dir ../e --tree x.png .//x.png)
}

# Each file on its way takes some.
test_few_descriptors() {
    for i in $(seq 30); do
        cp "$SMALL" "$i.png"
    done
    # shellcheck disable=SC3045
    (ulimit -n $((37 + $(find /proc/self/fd -mindepth 1 | wc -l))) && expect 0 -q --threads 16 -f gaussian --out-dir d ./*.png)
    [ "$(names d | wc -w)" -eq 30 ]
}

# Else one result would be lost, or an image filtered twice.
test_links_to_one_file() {
    cp "$SMALL" a.png
    cp "$IMAGE" b.png
    ln -s a.png latest.png
    expect 2 -f gaussian --out-dir . a.png b.png latest.png
    says "'a.png' and 'latest.png' are the same file; name it once"
    same a.png "$SMALL"
    mkdir d t
    ln -s b.png d/a.png
    expect 0 -f gaussian --out-dir d a.png latest.png
    expect 2 -f gaussian --out-dir d a.png b.png
    cp "$SMALL" t/x.png
    expect 2 -f gaussian --out-dir . --tree t/x.png t//x.png
    same t/x.png "$SMALL"
}

test_an_output_never_replaces_another_input() {
    cp "$SMALL" x.png
    cp "$SMALL" x_g.png
    cp "$SMALL" keep.png
    expect 2 -f gaussian --out-dir . --suffix _g x.png x_g.png
    says "would replace 'x_g.png', which is also an input"
    same x_g.png keep.png
    # Its own input it may replace, and says so.
    expect 0 -f gaussian --dry-run --out-dir . x.png x_g.png
    says "inputs that would be replaced by their own results: 2 of 2; --suffix S gives the results other names"
    same x.png keep.png
    expect 0 -q -f gaussian --dry-run --out-dir . x.png
    silent
    expect 0 -f gaussian --out-dir . x.png x_g.png
    says "inputs that will be replaced by their own results: 2 of 2"
    differ x.png keep.png
    same x.png x_g.png
}

test_a_list_that_does_not_come() {
    mkfifo list
    status=0
    timeout --preserve-status -s INT 1 "$VOLFILTER" -f gaussian --out-dir d --from-file list 2>err || status=$?
    [ "$status" -eq 130 ]
    says "interrupted; nothing was filtered"
}

test_the_directory() {
    echo file >d
    expect 1 -f gaussian --out-dir d "$SMALL"
    says "--out-dir=d: is not a directory"
    for dir in d/e d/e/f; do
        expect 1 -f gaussian --out-dir "$dir" "$SMALL"
        says "--out-dir=d"
        expect 1 -f gaussian --dry-run --out-dir "$dir" "$SMALL"
        says "--out-dir=$dir: cannot create the directory"
    done
    [ "$(cat d)" = file ]
    ln -s nowhere link
    for dry in '' --dry-run; do
        # shellcheck disable=SC2086
        expect 1 -f gaussian $dry --out-dir link "$SMALL"
        says "--out-dir=link: cannot create the directory: it is a link that leads nowhere"
        # shellcheck disable=SC2086
        expect 1 -f gaussian $dry --out-dir link/e "$SMALL"
        says "--out-dir=link: cannot create the directory: it is a link that leads nowhere"
    done
    rm link
    # One that cannot be made within it is its own files' failure.
    mkdir -p t/bad t/good results/t
    cp "$SMALL" t/bad
    cp "$SMALL" t/good
    echo file >results/t/bad
    for dry in --dry-run --no-clobber; do
        expect 3 $dry -f gaussian --tree --out-dir results t
        says "results/t/bad: is not a directory"
        says "1 of 2 files failed"
    done
    [ -f "results/t/good/${SMALL##*/}" ]
}

test_the_directory_is_made_with_its_parents() {
    expect 0 -f gaussian --dry-run --out-dir a/b//c/ "$SMALL"
    [ ! -e a ]
    expect 0 -f gaussian --out-dir a/b//c/ "$SMALL"
    [ "$(names a/b/c)" = microaneurysms.png ]
    expect 0 -f gradient --out-dir "$PWD/a/b/d" "$SMALL"
    [ "$(names a/b/d)" = microaneurysms.png ]
}

test_what_has_no_name() {
    wrong "standard input has no file name to use in --out-dir" -f gaussian --out-dir d -
    wrong "'../' is a directory" -f gaussian --out-dir d ../
    wrong "'..' is a directory" -f gaussian --out-dir d ..
    expect 3 -f gaussian --tree --out-dir d nowhere/ "$SMALL"
    says "nowhere/: cannot be read: No such file or directory"
    says "1 of 2 files failed"
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

test_lists_of_files() {
    cp "$SMALL" "a b.png"
    printf '%s\n\n%s\r\n' "a b.png" "$IMAGE" >list
    expect 0 -f gaussian --out-dir d --from-file list "$STACK"
    silent
    [ "$(names d)" = "a b.png cell.png head-mri.tif" ]
    "$VOLFILTER" -f gaussian --out-dir e --from-file - <list
    [ "$(names e)" = "a b.png cell.png" ]
    same "d/a b.png" "e/a b.png"
    expect 1 -f gaussian --out-dir d --from-file nowhere
    says "--from-file=nowhere: cannot be read"
    : >empty
    expect 1 -f gaussian --out-dir d --from-file empty
    says "--from-file=empty: names no images"
    expect 2 -f gaussian --from-file list a.png b.png
    says "--from-file needs --out-dir"
}

test_a_list_that_begins_with_the_mark_of_utf_8() {
    printf '\357\273\277%s\n%s\n' "$SMALL" "$IMAGE" >list
    expect 0 -f gaussian --out-dir d --from-file list
    silent
    [ "$(find d -type f | wc -l)" -eq 2 ]
}

# A zero byte in the list ends the names that it holds: they may then contain the ends of lines.
test_lists_that_zero_bytes_end() {
    odd=$(printf 'two\nlines.png') return=$(printf 'end.png\r')
    mkdir in
    cp "$SMALL" "in/$odd"
    cp "$SMALL" "in/$return"
    cp "$SMALL" in/-c.png
    find in -type f -print0 >zeros
    expect 0 -f gaussian --out-dir d --from-file zeros
    silent
    [ "$(find d -type f | wc -l)" -eq 4 ] # three and the end of a line
    [ -s "d/$odd" ] && [ -s "d/$return" ] && [ -s d/-c.png ]
    find in -type f -print0 | "$VOLFILTER" -f gaussian --out-dir e --from-file -
    same "d/$odd" "e/$odd"
    # Whether the last name has its end, or there are empty ones, does not matter.
    printf '\0in/-c.png\0\0%s' "$IMAGE" >zeros
    expect 0 -f gaussian --out-dir f --from-file zeros
    [ "$(names f)" = "-c.png cell.png" ]
}

# It is waited for, by itself: what is before it is done.
test_a_pipe_among_files() {
    mkfifo p.tif
    "$VOLFILTER" -f gaussian --out-dir d "$SMALL" p.tif "$IMAGE" 2>err &
    for turn in $(seq 200); do
        ! grep -q . err || [ ! -e "d/$(basename "$SMALL")" ] || break
        sleep 0.05
    done
    [ "$turn" -lt 200 ]
    says "volfilter: p.tif: is a pipe; waits for what writes to it"
    cat "$STACK" >p.tif
    wait $!
    expect 0 -f gaussian "$STACK" whole.tif
    same whole.tif d/p.tif
    [ -e "d/$(basename "$IMAGE")" ]
}

# Also behind one that is finished; those before it are in the account. Nothing is said with -q, or of a shell's own.
test_a_pipe_behind_a_finished_file() {
    expect 0 -q -f gaussian --resume --out-dir d "$IMAGE"
    mkfifo p.tif
    "$VOLFILTER" -q -f gaussian --resume --out-dir d "$SMALL" "$IMAGE" p.tif 2>err &
    for turn in $(seq 200); do
        ! grep -q "$(basename "$SMALL")" d/.volfilter-done || break
        sleep 0.05
    done
    cat "$STACK" >p.tif
    wait $!
    [ "$turn" -lt 200 ]
    [ ! -s err ]
    expect 0 -f gaussian --out-dir e "$SMALL" /dev/stdin <p.tif &
    cat "$STACK" >p.tif
    wait $!
    silent
}

# A name may move the cursor of the terminal, or look like another message.
test_names_in_messages() {
    odd=$(printf 'a\nvolfilter: b\033[31m\177.tif')
    echo bad >"$odd"
    expect 3 -f gaussian --out-dir d "$odd" "$SMALL"
    [ "$(wc -l <err)" -eq 2 ]
    says 'volfilter: a\nvolfilter: b\x1b[31m\x7f.tif: is text, neither'
    mv "$odd" bad.tif
    odd=$(printf '\344\2332J.tif') # Latin-1, as old disks have it, and what that has for ESC [
    cp bad.tif "$odd"
    expect 1 -f gaussian --out-dir d "$odd"
    says "$(printf 'volfilter: \344')\\x9b2J.tif: is text, neither"
    mv "$odd" bad.tif
    odd=$(printf '\302\265\302\2332J.tif') # a micro sign, and what UTF-8 has for ESC [
    cp bad.tif "$odd"
    expect 1 -f gaussian --out-dir d "$odd"
    says "$(printf 'volfilter: \302\265')\\xc2\\x9b2J.tif: is text, neither"
    cp "$SMALL" "$odd"
    expect 0 --explain --dry-run -f gaussian "$odd" out.tif
    prints "$(printf 'input  \302\265')\\xc2\\x9b2J.tif: "
    expect 0 info "$odd"
    prints "$(printf '\302\265')\\xc2\\x9b2J.tif"
    odd=$(printf 'a\tb.png')
    cp "$SMALL" "$odd"
    expect 0 -v -f gradient --out-dir d "$odd"
    says 'volfilter: d/a\tb.png: gradient gives float32'
    says 'volfilter: a\tb.png: read '
}

# Neither what never ends a line nor what never ends its lines is read without end.
test_from_file_without_end() {
    head -c 100000 /dev/zero | tr '\0' x >long
    expect 2 -f gaussian --out-dir d --from-file long
    says "--from-file=long: line 1 is longer than any file's name"
    expect 2 -f gaussian --out-dir d --from-file /dev/zero
    says "--from-file=/dev/zero: the list has more than 1000000 lines"
    expect 2 -f gaussian --out-dir d --from-file "$IMAGE"
    says "cell.png: is an image, not a list of names; to filter it, name it without --from-file"
    printf '\377\376a\0\n\0' >wide
    expect 2 -f gaussian --out-dir d --from-file wide
    says "--from-file=wide: is UTF-16; write it as UTF-8 (iconv -f UTF-16 -t UTF-8)"
    code=0
    yes '' | "$VOLFILTER" -f gaussian --out-dir d --from-file - 2>err || code=$?
    [ $code -eq 2 ]
    says "--from-file=-: the list has more than 1000000 lines"
    [ ! -e d ]
}

# Each is written by a thread of its own; what fails between them is reported in its place.
test_pictures_are_written_side_by_side() {
    mkdir in
    for i in 1 2 3 4 5 6 7 8; do
        cp "$SMALL" in/$i.png
        cp "$IMAGE" in/${i}x.png
    done
    echo text >in/5.png
    expect 3 --threads 4 -f gaussian --out-dir res --json in/*.png
    says "in/5.png: is text, neither"
    [ "$(grep '"input"' out | tr -dc '0-9x\n' | paste -sd ' ')" = "1 1x 2 2x 3 3x 4 4x 5x 6 6x 7 7x 8 8x" ]
    expect 0 -f gaussian "$SMALL" small.png
    expect 0 -f gaussian "$IMAGE" large.png
    for i in 1 2 3 4 6 7 8; do
        same res/$i.png small.png
        same res/${i}x.png large.png
    done
    expect 3 --threads 4 -f gaussian --out-dir res --resume in/*.png
    grep -q "15 of 16 files were already finished" err
}

test_trees() {
    mkdir -p in/a/b in/.hidden
    cp "$SMALL" in/x.png
    cp "$SMALL" in/a/x.png
    cp "$IMAGE" in/a/b/x.PNG
    cp "$IMAGE" in/.hidden/x.png
    echo text >in/a/notes.txt
    ln -s /dev/null in/device.png
    expect 0 -f gaussian --tree --out-dir res in
    [ "$(cd res && find . -type f | sort | paste -sd ' ')" = "./in/a/b/x.PNG ./in/a/x.png ./in/x.png" ]
    same res/in/x.png res/in/a/x.png
    # The results of the first time are not inputs of the second.
    (cd in && expect 0 -f gaussian --tree --out-dir ./a/b/out . && rm out err)
    (cd in && expect 0 -f gaussian --tree --out-dir ./a/b/out . && rm out err)
    [ "$(cd in/a/b/out && find . -type f | sort | paste -sd ' ')" = "./a/b/x.PNG ./a/x.png ./x.png" ]
    expect 0 -f gaussian --tree --out-dir some in/a/x.png ./in/x.png
    [ -s some/in/a/x.png ]
    [ -s some/in/x.png ]
    expect 2 -f gaussian --tree --out-dir in/deep in/a/../x.png
    says "'..'"
    [ ! -e in/deep ]
    expect 3 -f gaussian --tree --out-dir d in/nothing.png in/x.png
    mkdir none
    expect 1 -f gaussian --tree --out-dir d none
    says "no images found"
}

# Longer than the system takes, which root cannot read either.
test_trees_that_results_go_into() {
    mkdir -p in/a
    cp "$SMALL" in/x.png
    cp "$SMALL" in/a/y.png
    expect 0 -f gaussian --tree --out-dir in in
    expect 0 -f gaussian --tree --out-dir in in
    [ "$(find in -type f | sort | tr '\n' ' ')" = "in/a/y.png in/in/a/y.png in/in/x.png in/x.png " ]
}

test_trees_with_what_cannot_be_read() {
    name=$(printf '%0200d' 0)
    mkdir in
    cp "$SMALL" in/x.png
    mkdir deep
    for _ in $(seq 21); do
        mkdir outer
        mv deep "outer/$name"
        mv outer deep
    done
    mv deep in
    expect 3 -f gaussian --tree --out-dir res --report r.json in
    says "cannot be read: File name too long"
    says "1 of 2 files failed"
    [ -s res/in/x.png ]
    grep -q '"failed": 1' r.json
    [ "$(id -u)" -ne 0 ] || return 0
    mkdir in/locked
    chmod 000 in/locked
    expect 3 -f gaussian --tree --out-dir res in
    says "in/locked: cannot be read"
    expect 1 -f gaussian --tree --out-dir res in/locked/
    says "in/locked/: cannot be read"
    chmod 700 in/locked
}

test_resume() {
    cp "$SMALL" a.png
    cp "$IMAGE" b.png
    echo bad >c.png
    expect 3 -f gaussian --out-dir d a.png b.png c.png
    [ "$(names d)" = ".volfilter-done a.png b.png" ]
    cp "$SMALL" c.png
    touch -d '2001-02-03' d/b.png
    cp -p d/a.png before.png
    # What is finished stays as it is; what was changed, or is missing, is made.
    expect 0 -f gaussian --resume --report r.json --out-dir d a.png b.png c.png
    says "1 of 3 files were already finished"
    [ -z "$(find d/a.png -newer before.png)" ]
    [ -n "$(find d/b.png -newer before.png)" ]
    grep -q '"skipped": 1' r.json
    [ "$(names d)" = ".volfilter-done a.png b.png c.png" ]
    expect 0 -f gaussian --resume --out-dir d a.png b.png c.png
    says "3 of 3 files were already finished"
    # Another chain, other options, another input: all anew.
    expect 0 -f gaussian:2 --resume --out-dir d a.png b.png c.png
    silent
    expect 0 -f gaussian:2 --boundary wrap --resume --out-dir d a.png b.png
    silent
    cp "$IMAGE" a.png
    expect 0 -f gaussian:2 --boundary wrap --resume --out-dir d a.png b.png
    says "1 of 2 files were already finished"
    expect 0 -f gaussian:2 --boundary wrap --threads 1 --memory 1G --resume --out-dir d a.png b.png
    says "2 of 2 files were already finished"
}

# Results beside their inputs, among which the next run finds them: by the journal they are told from images
# that would be lost.
test_resume_beside_the_inputs() {
    mkdir -p in/deep
    cp "$SMALL" in/a.png
    cp "$IMAGE" in/deep/b.png
    expect 0 -f gaussian --tree --resume --out-dir . --suffix=-g in
    expect 0 -f gaussian --dry-run --tree --resume --out-dir . --suffix=-g in/a.png in/a-g.png in/deep
    says "2 of the files are results of an earlier run, which --resume leaves out"
    cp "$SMALL" in/c.png
    expect 0 -f gaussian --tree --resume --report r.json --out-dir . --suffix=-g in
    says "2 of 3 files were already finished"
    grep -q '"files": 3' r.json
    [ "$(names in)" = "a-g.png a.png c-g.png c.png deep" ]
    [ "$(names in/deep)" = "b-g.png b.png" ]
    # Another chain's results, or what is no longer the result, are another input.
    expect 2 -f gaussian:2 --tree --resume --out-dir . --suffix=-g in/a.png in/a-g.png
    says "the result of 'in/a.png' would replace 'in/a-g.png', which is also an input"
    cp "$SMALL" in/a-g.png
    expect 2 -f gaussian --tree --resume --out-dir . --suffix=-g in/a.png in/a-g.png
    expect 2 -f gaussian --tree --out-dir . --suffix=-g in/c.png in/c-g.png
    same in/a-g.png "$SMALL"
}

# What is finished shares nothing with the one that is left, which is planned as one by itself.
test_resume_of_one_that_is_left() {
    sparse 512 512 400 big.mrc
    cp "$SMALL" s.png
    expect 0 -q -f gaussian --resume --out-dir d s.png
    set -- --backend cpu --memory 1G --explain --dry-run --resume -f gaussian --out-dir d s.png big.mrc
    expect 0 "$@"
    prints "read, filtered and written at the same time"
    rm d/s.png
    expect 0 "$@"
    [ "$(grep -c 'at the same time' out)" -eq 0 ]
}

# A list that takes more memory than it may: neither image nor chain is to blame.
test_a_list_that_takes_the_memory() {
    is_sanitized && return
    tiff 8 8 >all
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13; do
        cat all all >twice
        mv twice all
    done
    mkdir many
    split -b 186 -a 4 --additional-suffix=.tif all many/
    expect 3 --memory 20M -q -f mean --tree --out-dir o many
    says "many/aaaa.tif: this needs "
    says " MiB with the list of files, which takes "
    says ", or filter fewer files at once"
}

# Neither waited for nor read to an end that never comes.
test_resume_from_what_is_no_account() {
    mkdir d
    for kind in 'mkfifo' 'truncate -s 4G' 'ln -s /dev/zero' 'mkdir'; do
        $kind d/.volfilter-done
        expect 1 -f gaussian --resume --out-dir d "$SMALL"
        says ".volfilter-done"
        [ "$(names d)" = ".volfilter-done" ]
        rm -r d/.volfilter-done
    done
}

# Results are right all the same: it is said once, with the path, and fails what was to be resumed.
test_account_that_cannot_be_written() {
    mkdir -p d/.volfilter-done e
    expect 0 -f gaussian --out-dir d "$SMALL" "$IMAGE"
    says "d/.volfilter-done cannot be written: Is a directory"
    [ "$(wc -l <err)" -eq 1 ]
    [ "$(names d)" = ".volfilter-done cell.png microaneurysms.png" ]
    echo another >another
    ln -s ../another e/.volfilter-done
    expect 0 -f gaussian --out-dir e "$SMALL" "$IMAGE"
    says "e/.volfilter-done cannot be written: it is a symbolic link"
    [ "$(wc -l <err)" -eq 1 ]
    same d/cell.png e/cell.png
    expect 1 -f gaussian --resume --out-dir e "$SMALL"
    says "e/.volfilter-done cannot be read: it is a symbolic link"
    echo bad >bad.png
    expect 3 -f gaussian --out-dir e "$SMALL" bad.png
    [ "$(cat another)" = another ]
}

# Of one size and time, as when an archive was unpacked.
test_resume_knows_paths() {
    mkdir a b
    expect 0 -f gaussian:sigma=1 --compress none "$SMALL" a/x.tif
    expect 0 -f gaussian:sigma=2 --compress none "$SMALL" b/x.tif
    touch -d '2001-02-03' a/x.tif b/x.tif
    [ "$(wc -c <a/x.tif)" -eq "$(wc -c <b/x.tif)" ]
    expect 0 -f gaussian --resume --out-dir d a/x.tif
    expect 0 -f gaussian --resume --out-dir d b/x.tif
    silent
    expect 0 -f gaussian b/x.tif x.tif
    same x.tif d/x.tif
    # By another way to the same file.
    expect 0 -f gaussian --resume --out-dir d a/../b/x.tif
    says "1 of 1 files were already finished"
}

# Lines too long to be entries are passed over, without memory for them.
test_resume_with_a_long_line() {
    expect 3 -f gaussian --out-dir d "$SMALL" nowhere.png
    { head -c 5000000 /dev/zero | tr '\0' x && echo && cat d/.volfilter-done; } >longer
    mv longer d/.volfilter-done
    expect 0 -f gaussian --resume --out-dir d "$SMALL"
    says "1 of 1 files were already finished"
}

# Half a list is no list, and a report that is not whole no report.
test_lists_and_reports_that_fail() {
    expect 1 -f gaussian --out-dir d --from-file .
    says "--from-file=.: cannot be read: Is a directory"
    for i in $(seq 30); do
        cp "$SMALL" "$i.png"
    done
    message=$(ulimit -f 8 && "$VOLFILTER" -f mean:radius=0 --report r.json --out-dir d ./*.png 2>&1) && return 1
    case $message in *"r.json: cannot be written: File too large"*) ;; *) echo "$message" && return 1 ;; esac
    [ ! -e r.json ]
    mkdir -p e/.volfilter-done
    expect 1 -f gaussian --report e.json --out-dir e --resume 1.png
}

test_own_files_are_no_results() {
    cp "$SMALL" plain
    expect 2 -f gaussian --out-dir d --report d/plain plain
    says "--report=d/plain is where the result of 'plain' goes"
    mkdir d
    ln -s d/plain link.json
    expect 2 -f gaussian --out-dir d --report link.json plain
    says "--report=link.json is where the result of 'plain' goes"
    expect 2 -f gaussian --out-dir d --report d/.volfilter-done plain
    says "--report=d/.volfilter-done is the list of finished results"
    cp "$SMALL" .volfilter-done
    expect 2 -f gaussian --out-dir d .volfilter-done
    says "would replace the list of finished results"
    [ -z "$(names d)" ]
    # A link that leads nowhere yet is where the other's result goes.
    cp "$SMALL" a.png
    cp "$IMAGE" b.png
    ln -s b.png d/a.png
    expect 2 -f gaussian --out-dir d a.png b.png
    says "'a.png' and 'b.png' would both be written to"
}

# With the same name as its input a result that is not noted would be filtered again.
test_account_that_cannot_be_written_in_place() {
    cp "$SMALL" a.png
    mkdir .volfilter-done
    expect 1 -f gaussian --out-dir . a.png
    says "a.png: would replace its input"
    says ".volfilter-done cannot be written: Is a directory"
    same a.png "$SMALL"
}

# A line that may not be on the disk is as good as none for what replaces its input; others need not wait for it.
test_account_that_cannot_be_synced() {
    is_sanitized && return
    printf '#include <errno.h>\nint fdatasync(int fd) { (void)fd; errno = EIO; return -1; }\n' >no_sync.c
    cc -shared -fPIC -o no_sync.so no_sync.c
    cp "$SMALL" a.png
    export LD_PRELOAD="$PWD/no_sync.so"
    expect 0 -f gaussian --out-dir d a.png
    expect 1 -f gaussian --out-dir . a.png
    says "a.png: would replace its input"
    says ".volfilter-done cannot be written: Input/output error"
    same a.png "$SMALL"
}

# Other weights under the same name have made other results.
test_resume_knows_weights() {
    cp "$SMALL" a.png
    cp "$IMAGE" b.png
    echo "1 2 3" >w.txt
    expect 0 -f convolve:w.txt --dtype uint8 --resume --out-dir d a.png b.png
    echo "1, 2, 3 # the same" >w.txt
    expect 0 -f convolve:w.txt --dtype uint8 --resume --out-dir d a.png b.png
    says "2 of 2 files were already finished"
    cp d/a.png before.png
    echo "3 2 1" >w.txt
    expect 0 -f convolve:w.txt --dtype uint8 --resume --out-dir d a.png b.png
    silent
    differ d/a.png before.png
    # Turned about its centre it is what it was before, to the pixel and not by name.
    expect 0 -f convolve:w.txt:flip=no --dtype uint8 --resume --out-dir d a.png b.png
    silent
    same d/a.png before.png
}

# An image on standard input, and weights in a file of another directory.
test_weights_beside_a_pipe() {
    mkdir -p in/a
    cp "$DATA/emboss.txt" in/a/w-1.txt
    expect 0 -f convolve:in/a/w-1.txt:flip=no --dtype uint8 - once.png <"$SMALL"
    expect 0 -f convolve:in/a/w-1.txt:flip=no --dtype uint8 "$SMALL" again.png
    same once.png again.png
    expect 2 -f convolve:- - out.png <"$SMALL"
    says "convolve: file=-: weights are not read from standard input, which may be the image; write them to a file"
}

# Under whatever name.
test_weights_are_not_replaced() {
    mkdir d
    cp "$DATA/emboss.txt" d/a.png
    ln d/a.png link.mrc
    cp "$SMALL" a.png
    expect 2 -f gaussian,convolve:d/a.png a.png link.mrc
    says "the result would replace the weights in 'd/a.png'; name another file"
    expect 2 -f convolve:d/a.png --dry-run a.png d/a.png
    expect 3 -f convolve:link.mrc --out-dir d a.png "$IMAGE"
    says "the result would replace the weights in 'link.mrc'; name another file"
    cmp d/a.png "$DATA/emboss.txt"
    cmp link.mrc "$DATA/emboss.txt"
    [ "$(names d)" = ".volfilter-done a.png cell.png" ]
}

# Whatever fails before it is known that a result is finished, its file is not filtered a second time.
test_resume_that_cannot_tell() {
    cp "$SMALL" a.png
    expect 0 -f gaussian --out-dir . --resume a.png
    cp a.png once.png
    for n in $(seq 60); do
        VOLFILTER_FAIL_ALLOC=$n "$VOLFILTER" --threads 1 -f gaussian --out-dir . --resume a.png >out 2>err || true
        same a.png once.png
    done
}

test_resume_of_files_in_place() {
    cp "$SMALL" a.png
    echo bad >b.png
    expect 3 -f gaussian --out-dir . a.png b.png
    cp -p a.png before.png
    # What replaced its input is not filtered again.
    expect 3 -f gaussian --resume --out-dir . a.png b.png
    says "1 of 2 files were already finished"
    says "inputs that will be replaced by their own results: 1 of 2"
    same a.png before.png
    expect 0 -f gaussian --resume --out-dir . a.png
    test "$(grep -c replace err)" -eq 0
    touch -d '2001-02-03' a.png
    expect 3 -f gaussian --resume --out-dir . a.png b.png
    differ a.png before.png
    # Nor when all of them were finished.
    rm .volfilter-done
    expect 0 -f gaussian --out-dir . a.png
    cp -p a.png before.png
    expect 0 -f gaussian --resume --out-dir . a.png
    same a.png before.png
}

# For what happens while a run is at work.
if is_sanitized; then
    SLOW=perona-malik:k=10:iterations=15
else
    SLOW=perona-malik:k=10:iterations=150
fi

# Killed when the first file is in place and long before the second one is.
test_a_killed_run_knows_what_it_replaced() {
    cp "$SMALL" a.png
    cp "$STACK" b.tif
    before=$(stat -c %i a.png)
    expect 0 -f gaussian --report r.json --out-dir d a.png
    "$VOLFILTER" -f $SLOW --report r.json --out-dir . a.png b.tif &
    run=$!
    while [ "$(stat -c %i a.png)" = "$before" ]; do
        sleep 0.01
    done
    kill -KILL $run
    wait $run || true
    counts_as r.json '"files": 2 "done": 0 "skipped": 0 "failed": 0 "interrupted": true "results": [' \
        '"input": "a.png" "output": "./a.png" "status": "not done" "error": null "note": null' \
        '"read_seconds": 0 "compute_seconds": 0 "write_seconds": 0' \
        '"input": "b.tif" "output": "./b.tif" "status": "not done" "error": null "note": null' \
        '"read_seconds": 0 "compute_seconds": 0 "write_seconds": 0 ]'
    cp -p a.png once.png
    expect 0 -f $SLOW --resume --out-dir . a.png
    says "1 of 1 files were already finished"
    same a.png once.png
}

# ends CODE PID
ends() {
    code=0
    wait "$2" || code=$?
    [ $code -eq "$1" ]
}

test_inputs_that_change_meanwhile() {
    for how in mv cat; do
        cp "$STACK" a.tif
        cp "$SMALL" b.png
        cp "$IMAGE" new.png
        "$VOLFILTER" -f $SLOW --out-dir . a.tif b.png >out 2>err &
        run=$!
        computes $run
        kill -STOP $run
        if [ $how = mv ]; then
            mv new.png b.png
        else
            cat new.png >b.png
        fi
        kill -CONT $run
        ends 3 $run
        says "b.png: "
        same b.png "$IMAGE"
        rm .volfilter-done
    done
    cp "$STACK" a.tif
    "$VOLFILTER" -f $SLOW a.tif a.tif >out 2>err &
    run=$!
    computes $run
    kill -STOP $run
    cp "$SMALL" new.png
    mv new.png a.tif
    kill -CONT $run
    ends 1 $run
    says "a.tif: was meanwhile changed or replaced by another program, and is left as it is"
    same a.tif "$SMALL"
}

# The second one goes through the files from the last to the first, none of which is filtered twice.
test_two_runs_in_place() {
    expect 0 -f $SLOW "$SMALL" once.png
    expect 0 -f $SLOW "$STACK" once.tif
    cp "$STACK" 00.tif
    for i in $(seq 10 29); do
        cp "$SMALL" "$i.png"
    done
    "$VOLFILTER" -q --threads 1 -f $SLOW --out-dir . --resume 00.tif [12]?.png 2>/dev/null &
    run=$!
    # shellcheck disable=SC2046
    "$VOLFILTER" -q --threads 1 -f $SLOW --out-dir . --resume $(seq -f %g.png 29 -1 10) 2>/dev/null || true
    wait $run || true
    same 00.tif once.tif
    for i in $(seq 10 29); do
        same "$i.png" once.png
    done
}

test_results_that_are_replaced_meanwhile() {
    cp "$SMALL" a.png
    cp "$STACK" b.tif
    before=$(stat -c %i a.png)
    "$VOLFILTER" -q -f $SLOW --out-dir . --resume a.png b.tif &
    run=$!
    while [ "$(stat -c %i a.png)" = "$before" ]; do
        sleep 0.01
    done
    cp "$SMALL" new.png
    mv new.png a.png
    wait $run
    expect 0 -f $SLOW --out-dir . --resume a.png b.tif
    says "1 of 2 files were already finished"
    differ a.png "$SMALL"
}

test_a_directory_that_is_replaced_meanwhile() {
    "$VOLFILTER" -f $SLOW --out-dir d --resume "$STACK" >out 2>err &
    run=$!
    computes $run
    kill -STOP $run
    mv d before
    mkdir d
    kill -CONT $run
    ends 1 $run
    says "d is another directory than when this run began; results are whole, but --resume will not know them"
}

# A hard link to an input is another file once it is replaced.
test_results_beside_hard_links() {
    mkdir in d
    cp "$SMALL" in/a.png
    ln in/a.png d/a.png
    expect 0 -f gaussian --out-dir d --resume in/a.png
    [ ! -s err ]
    same in/a.png "$SMALL"
    differ d/a.png "$SMALL"
    expect 0 -f gaussian --out-dir d --resume in/a.png
    says "1 of 1 files were already finished"
    # Not one that is an input too.
    mkdir -p e/in
    ln in/a.png e/in/a.png
    expect 2 -f gaussian --out-dir e --tree in/a.png e/in/a.png
    says "the result of 'in/a.png' would replace 'e/in/a.png', which is also an input"
    same e/in/a.png "$SMALL"
}

test_what_is_done_stays_known() {
    cp "$SMALL" a.png
    cp "$SMALL" b.png
    cp "$SMALL" ' of a "scan".png'
    expect 0 -f gaussian --resume --out-dir d a.png ' of a "scan".png'
    expect 0 -f gaussian --resume --out-dir d a.png ' of a "scan".png'
    says "2 of 2 files were already finished"
    # Names may hold the ends of lines, which are those of the journal's.
    odd=$(printf 'two\nlines\\n\\.png')
    cp "$SMALL" "$odd"
    expect 0 -f gaussian --resume --out-dir . "$odd"
    expect 0 -f gaussian --resume --out-dir . "$odd"
    says "1 of 1 files were already finished"
    # A line that a crash cut short takes no other with it.
    printf '\0\ncut short' >>d/.volfilter-done
    expect 0 -f gaussian --resume --out-dir d b.png
    expect 0 -f gaussian --resume --out-dir d b.png
    says "1 of 1 files were already finished"
    rm d/b.png
    # A run that is finished leaves nothing of its own behind, but takes nothing away.
    expect 0 -f gaussian --out-dir d b.png
    expect 0 -f gaussian --resume --out-dir d a.png b.png
    says "2 of 2 files were already finished"
    # Something else of the same size may have come within the same second.
    touch -d "@$(stat -c %Y d/b.png).123456789" d/b.png
    expect 0 -f gaussian --resume --out-dir d a.png b.png
    says "1 of 2 files were already finished"
}

# counts_as FILE TEXT...: this JSON, without commas, braces and indents; N is any number of seconds or bytes but 0.
counts_as() {
    file=$1
    shift
    sed 's/^ *//; s/,$//; s/\(_\(seconds\|bytes\)": \)[0-9.e-]*[1-9][0-9.e-]*$/\1N/; /^[{}]*$/d' "$file" |
        paste -sd ' ' >shown
    echo "$*" | diff - shown
}

test_report() {
    cp "$SMALL" a.tif
    expect 2 -f gaussian --out-dir d --report a.tif "$SMALL"
    says "--report=a.tif would overwrite an image"
    same a.tif "$SMALL"
    echo bad >bad.tif
    expect 3 -f gaussian --report r.json --out-dir d bad.tif "$SMALL" nowhere.tif
    counts_as r.json '"files": 3 "done": 1 "skipped": 0 "failed": 2 "interrupted": false "results": [' \
        '"input": "bad.tif" "output": "d/bad.tif" "status": "failed"' \
        '"error": "bad.tif: is text, neither TIFF, PNG nor MRC" "note": null' \
        '"read_seconds": 0 "compute_seconds": 0 "write_seconds": 0' \
        '"input": "'"$SMALL"'" "output": "d/microaneurysms.png" "status": "done" "error": null' \
        '"note": null "read_seconds": N "compute_seconds": N "write_seconds": N' \
        '"input": "nowhere.tif" "output": "d/nowhere.tif" "status": "failed"' \
        '"error": "nowhere.tif: cannot be read: No such file or directory" "note": null' \
        '"read_seconds": 0 "compute_seconds": 0 "write_seconds": 0 ]'
    expect 0 --json --threads 2 -f gaussian "$SMALL" o.tif
    counts_as out '"input": "'"$SMALL"'" "output": "o.tif" "note": null "read_seconds": N "compute_seconds": N' \
        '"write_seconds": N "elapsed_seconds": N "threads": 2 "memory_bytes": N "peak_memory_bytes": N'
    if command -v python3 >/dev/null; then
        python3 -c 'import json; r = json.load(open("r.json")); assert len(r["results"]) == 3'
    fi
    message=$(ulimit -f 0; "$VOLFILTER" -f gaussian --dry-run --report full.json --out-dir e "$SMALL" 2>&1) || :
    [ "$message" = "volfilter: full.json: cannot be written: File too large for its file system, or for the limit that ulimit -f shows" ]
    [ ! -e full.json ]
    echo "$SMALL" >names
    cp names kept
    expect 1 -f gaussian --report names --from-file names --out-dir e
    says "--report=names would replace a file that is no report"
    same names kept
    expect 0 -f gaussian --report r.json --out-dir d "$SMALL"
    grep -q '"files": 1,' r.json
    # What nobody hears.
    expect 0 -q -f gradient --report r.json --out-dir d "$SMALL"
    grep -q '"note": "gradient gives float32, but PNG' r.json
    expect 1 -f gaussian --no-clobber --report r.json --out-dir e "$SMALL"
    says "r.json: exists"
    # What is taken up again has its own report.
    expect 0 -f gaussian --no-clobber --resume --report again.json --out-dir f "$SMALL"
    expect 0 -f gaussian --no-clobber --resume --report again.json --out-dir f "$SMALL"
    grep -q '"skipped": 1,' again.json
    expect 1 -f gaussian --report nowhere/r.json --out-dir e "$SMALL"
    says "nowhere/r.json"
    [ ! -e e/microaneurysms.png ]
}

test_dry_runs_say_what_is_to_be_done() {
    cp "$SMALL" a.png
    expect 0 -f gaussian --resume --dry-run --report r.json --out-dir d a.png
    grep -q '"done": 0' r.json
    grep -q '"status": "planned"' r.json
    [ ! -e d ]
    expect 0 -f gaussian --resume --out-dir d a.png
    cp -pr d before
    expect 0 -f gaussian --resume --dry-run --explain --report r.json --out-dir d a.png "$IMAGE"
    says "1 of 2 files were already finished"
    [ "$(grep -c '^input' out)" -eq 1 ]
    grep -q '"status": "skipped"' r.json
    diff -r before d
    expect 1 -f gaussian --no-clobber --dry-run --out-dir d a.png
    says "d/a.png: exists; remove it"
    expect 1 -f gaussian --dry-run --out-dir a.png a.png
    says "--out-dir=a.png: is not a directory"
    expect 1 -f gaussian --dry-run --out-dir a.png/d/e a.png
    says "--out-dir=a.png/d/e: cannot create the directory: Not a directory"
    mkdir in
    cp a.png in
    expect 0 -f gaussian --dry-run --tree --out-dir e/ a.png in/a.png
    [ ! -e e ]
    mkdir e
    expect 0 -f gaussian --dry-run --tree --out-dir e in
    [ ! -e e/in ]
    diff -r before d
}

test_progress_of_files() {
    expect 0 --progress always -f gaussian --out-dir d "$SMALL" "$IMAGE"
    says "2 of 2 files"
    expect 0 --progress json -f gaussian --out-dir d "$SMALL" "$IMAGE"
    grep -q '"files_done": 2, "files": 2' err
    # One line for all of them, which each file's own would hide.
    [ "$(grep -cv '"files_done": ' err)" -eq 0 ]
    expect 0 --progress json -f gaussian "$STACK" o.tif
    grep -q '^{"step": "filtering", "done": [0-9]*, "total": [0-9]*, "seconds": ' err
    if command -v python3 >/dev/null; then
        python3 -c 'import json; [json.loads(line) for line in open("err")]'
    fi
}

# What is finished, or cannot be opened, is no work: it would make the rest look fast.
test_progress_counts_only_what_is_filtered() {
    cp "$STACK" a.tif
    cp "$IMAGE" b.png
    head -c 5000000 /dev/zero >c.tif
    expect 0 -f gaussian --resume --out-dir d a.tif
    expect 3 --progress json -f gaussian --resume --out-dir d a.tif b.png c.tif
    bytes=$(wc -c <b.png)
    grep -q "\"done\": $bytes, \"total\": $bytes, .*\"files_done\": 3, \"files\": 3" err
    expect 0 --progress always --dry-run -f gaussian --out-dir d a.tif b.png
    says "2 of 2 files"
}

# Each result would find room, but not all of them.
test_a_dry_run_adds_up_disk_space() {
    free=$(df --output=avail -B1 . | tail -1)
    # A file system may not have files as large as that.
    sparse 1024 1024 $((free * 2 / 3 / 1024 / 1024 / 2)) a.mrc 2>/dev/null || return 0
    ln -s a.mrc b.mrc
    expect 0 -f gaussian --dry-run --out-dir d/e a.mrc
    expect 1 -f gaussian --dry-run --out-dir d/e a.mrc b.mrc
    says "the results together need "
    says " MiB of disk space, but . has "
    [ ! -e d ]
    # The room of what they replace is counted as theirs.
    mkdir r
    truncate -s $((free / 2)) r/a.mrc r/b.mrc
    expect 0 -f gaussian --dry-run --out-dir r a.mrc b.mrc
    # Of a directory that is still to be made, what it will lie in tells.
    sparse 1024 1024 $((free * 4 / 3 / 1024 / 1024 / 2)) c.mrc 2>/dev/null || return 0
    expect 1 -f gaussian --dry-run --out-dir d/e c.mrc
    says "d/e/c.mrc: the result needs "
}

test_files_beside_each_other_are_those_alone() {
    for i in 1 2 3 4 5 6; do cp "$STACK" $i.tif; done
    expect 0 -f "gaussian:1,gradient" --out-dir d 1.tif 2.tif 3.tif "$SMALL" 4.tif 5.tif 6.tif
    expect 0 -f "gaussian:1,gradient" "$STACK" o.tif
    for i in 1 2 3 4 5 6; do same d/$i.tif o.tif; done
    # Where only one fits at a time, and where none is held whole.
    least -f "gaussian:1,gradient" "$STACK" e.tif
    expect 0 -f "gaussian:1,gradient" --memory $((LEAST + 8))M --out-dir e 1.tif 2.tif 3.tif
    for i in 1 2 3; do same e/$i.tif o.tif; done
    [ "$(names e)" = "1.tif 2.tif 3.tif" ]
}
