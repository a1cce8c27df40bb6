# What volfilter says about itself.
# shellcheck shell=sh

test_help() {
    expect 0 --help
    prints "Usage: volfilter [options] -f CHAIN [-f CHAIN]... IN OUT"
    for option in --filter --out-dir --suffix --no-clobber --sync --compress --dtype --boundary --spacing --slices \
        --precision --backend --threads --memory --scheme --explain --dry-run --json --progress --quiet --verbose \
        --help --version; do
        prints " $option"
    done
    [ ! -s err ]
    mv out long
    expect 0 -h
    same long out
    expect 0 help
    same long out
    expect 0 -f gaussian --help whatever --nonsense
    same long out
}

test_list_and_help_of_every_filter() {
    expect 0 list
    mv out filters
    [ "$(wc -l <filters)" -eq "$(grep -c "^VF_FILTER_DEF(" "$DATA/../filters/filters.def")" ]
    echo 1 2 1 >weights.txt
    while read -r name _; do
        expect 0 help "$name"
        prints "$name: "
        [ "$(grep -c "^Parameters:" out)" -eq 1 ] || grep -q "^  volfilter -f $name in.tif out.tif" out
        grep -q "volfilter -f $name\(:file=weights.txt\)\? in.tif out.tif" out
        grep '^  volfilter -f ' out | while read -r _ _ chain _; do
            expect 0 --dry-run -f "$chain" "$STACK" o.tif
        done
    done <filters
    expect 0 help gaussian gradient
    prints "gaussian: "
    prints "gradient: "
}

# Lines fit a terminal, but for examples; of options those are told of that a command takes.
test_help_of_every_topic() {
    for topic in list info devices tune schemes $("$VOLFILTER" list | sed 's/ .*//'); do
        expect 0 help "$topic"
        [ "$(grep -v '^  volfilter ' out | wc -L)" -le 80 ] || { echo "help $topic has longer lines" && false; }
        case $topic in list) options=0 ;; info | devices) options=1 ;; tune) options=2 ;; *) continue ;; esac
        head -n 1 out | grep -qx "Usage: volfilter $topic\( [^ ].*\)\{0,1\}"
        [ "$(grep -c '^      --' out)" -eq "$options" ]
        [ "$(grep -c '^$' out)" -eq $((options > 0 ? 2 : 1)) ]
    done
    expect 0 help schemes
    prints "  reference        plain loops, stage by stage"
    prints "  time-stream      "
}

test_help_of_commands() {
    for command in list help info devices tune; do
        expect 0 help $command
        prints "Usage: volfilter $command"
        mv out long
        expect 0 $command --help
        same long out
    done
    expect 0 tune gaussian --like "$SMALL" -h
    prints "--budget SECONDS "
    expect 2 help nosuch
    says "there is no filter, command or option 'nosuch' ('volfilter list' shows the filters, 'volfilter --help' the commands and options; the manual page compares other programs)"
    expect 2 help tun
    says "there is no filter, command or option 'tun'; did you mean 'tune'?"
    expect 2 help tune:
    says "there is no filter, command or option 'tune:'; did you mean 'tune'?"
    expect 2 help sobel
    says "did you mean 'gradient:method=sobel'?"
    expect 2 help cval
    says "did you mean '--boundary'?"
    expect 2 help shemes
    says "there is no filter, command or option 'shemes'; did you mean 'schemes'?"
    expect 2 help gaussian,gradient
    says "help takes filters one by one, not 'gaussian,gradient'"
}

# As messages name them: a filter with a choice, an option with its dashes.
test_help_of_what_messages_name() {
    expect 0 help gradient
    mv out filter
    expect 0 help gradient:method=sobel
    same filter out
    expect 0 help --boundary
    prints "      --boundary RULE "
    prints "allowed: nearest, reflect, mirror, constant,"
    mv out option
    expect 0 help boundary
    same option out
    expect 0 help -f --out-dir
    prints "  -f, --filter CHAIN "
    prints "      --out-dir DIR "
    for topic in -x -fx --- -boundary --man; do
        expect 2 help "$topic"
        says "there is no filter, command or option '$topic'"
    done
}

test_version() {
    expect 0 --version
    prints "volfilter 0.1.0"
    prints "LIBTIFF"
    prints "libpng"
    prints "backends: cpu (vector level "
}

test_manual_page_is_the_generated_one() {
    expect 0 --man
    cmp out "$DATA/../man/volfilter.1" || {
        echo "the manual page is not what volfilter --man prints: run make man"
        return 1
    }
    for section in NAME SYNOPSIS DESCRIPTION CHAINS FILTERS OPTIONS BOUNDARIES UNITS FILES ENVIRONMENT EXAMPLES; do
        prints ".SH $section"
    done
    prints ".SH GLOBAL VALUES"
    prints ".SH EXIT STATUS"
}

# Each in a shell of its own, which takes the program from here; of a pipe every part counts.
# Not under sanitizers, under which other cases run the same filters.
test_examples_of_the_manual_page() {
    is_sanitized && return
    "$VOLFILTER" --man | sed -n '/EXAMPLES/,$ { s/\\-/-/g; /^volfilter /p; }' >examples
    [ "$(wc -l <examples)" -ge 6 ]
    mkdir bin
    ln -s "$(realpath "$VOLFILTER")" bin/volfilter
    cp "$STACK" in.tif
    cp "$IMAGE" in.png
    mkdir images
    cp "$IMAGE" images
    "$VOLFILTER" -f gaussian in.tif tomogram.mrc
    while read -r example; do
        echo "$example"
        PATH=$PWD/bin:$PATH bash -e -o pipefail -c "$example" </dev/null >out
    done <examples
}

test_manual_page_is_good_roff() {
    command -v groff >/dev/null || return 0
    "$VOLFILTER" --man | groff -man -Tutf8 -ww >/dev/null 2>warnings
    [ ! -s warnings ]
}

test_output_that_cannot_be_written() {
    [ -w /dev/full ] || return 0
    code=0
    "$VOLFILTER" --help >/dev/full 2>err || code=$?
    [ "$code" -eq 1 ]
    says "standard output: cannot write: No space left on device"
    code=0
    "$VOLFILTER" --json -f gaussian "$SMALL" out.tif >/dev/full 2>err || code=$?
    [ "$code" -eq 1 ]
    says "standard output: cannot write: No space left on device"
}
