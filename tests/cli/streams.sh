# Standard input and output, and signals.
# shellcheck shell=sh

test_pipe_of_two() {
    "$VOLFILTER" -f gaussian - - <"$STACK" 2>err1 | "$VOLFILTER" -f gradient - a.tif >out 2>err
    [ ! -s err1 ]
    silent
    expect 0 -f gaussian "$STACK" b.tif
    expect 0 -f gradient b.tif c.tif
    same a.tif c.tif
}

test_pipe_into_another_format() {
    "$VOLFILTER" -f gaussian - - <"$IMAGE" | "$VOLFILTER" -f gradient --dtype uint8 - o.png
    has o.png nx 550
    # The stream's kind is the input's.
    "$VOLFILTER" -f gaussian "$SMALL" - | "$VOLFILTER" info --json - | grep -q '"format": "PNG"'
    "$VOLFILTER" -f gaussian "$STACK" - | "$VOLFILTER" info --json - | grep -q '"format": "TIFF"'
}

# What is printed of a file is out before the next one, and in its order, also where as many as can be are on their way.
test_texts_of_many_files() {
    for i in $(seq 40); do
        cp "$SMALL" "$i.png"
    done
    expect 0 --json --threads 16 --report - -f gaussian --out-dir d ./*.png
    [ "$(grep -c '^{$' out)" -eq 41 ]
    [ "$(grep -n '^  "files": 40' out | cut -d : -f 1)" -gt "$(grep -n '"elapsed_seconds"' out | tail -n 1 | cut -d : -f 1)" ]
    "$VOLFILTER" --explain -f ced:iterations=10000 "$STACK" o.tif >plan 2>err &
    until grep -q 'ced' plan; do
        kill -0 $!
        sleep 0.02
    done
    kill $!
    wait $! || :
}

# As a pipe of a parent's that does not block may be; dd leaves its standard output so.
test_text_to_who_reads_late() {
    for i in $(seq 200); do
        echo "$SMALL"
    done >names
    xargs "$VOLFILTER" info --json <names >all
    [ "$(wc -c <all)" -gt 70000 ]
    {
        dd if=/dev/null oflag=nonblock status=none
        xargs "$VOLFILTER" info --json <names 2>err && echo 0 >code
    } | { sleep 0.3 && cat >late; }
    silent
    [ -e code ]
    cmp all late
}

test_nobody_reads_the_rest_of_a_text() {
    mkfifo pipe
    true <pipe &
    exec 3>pipe
    wait $!
    "$VOLFILTER" --help >&3 2>err
    "$VOLFILTER" list >&3 2>>err
    exec 3>&-
    silent
}

# As a shell's >(COMMAND) is one.
test_pipe_whose_name_says_no_kind() {
    mkfifo pipe
    cat pipe >a.png &
    expect 0 -f gaussian "$SMALL" pipe
    wait $!
    expect 0 -f gaussian "$SMALL" b.png
    same a.png b.png
    expect 0 -f gaussian "$SMALL" /dev/null
}

test_stdout_carries_data_only() {
    expect 0 -f gaussian "$STACK" a.tif
    for option in --explain --json -v --progress=always; do
        "$VOLFILTER" -f gaussian $option "$STACK" - >b.tif 2>err
        same a.tif b.tif
        "$VOLFILTER" -f gaussian $option "$STACK" /dev/stdout 2>err | cat >b.tif
        same a.tif b.tif
    done
    "$VOLFILTER" -f gaussian "$STACK" /dev/stdout >b.tif
    same a.tif b.tif
    "$VOLFILTER" -f gaussian --explain "$STACK" - 2>err >/dev/null
    grep -q GX err
    "$VOLFILTER" -f gaussian -q "$STACK" - 2>err >/dev/null
    [ ! -s err ]
}

# Neither stream is the file that has their name.
test_a_file_whose_name_is_a_dash() {
    expect 0 -f gaussian "$STACK" a.tif
    cp "$STACK" ./-
    "$VOLFILTER" -f gaussian - - <"$STACK" >b.tif 2>err
    same a.tif b.tif
    same "$STACK" ./-
    rm ./-
    mkdir ./-
    "$VOLFILTER" -f gaussian - - <"$STACK" >b.tif 2>err
    same a.tif b.tif
}

test_broken_input_stream() {
    code=0
    head -c 1000 "$STACK" | "$VOLFILTER" -f gaussian - o.tif 2>err || code=$?
    [ "$code" -eq 1 ]
    says "standard input"
    [ ! -e o.tif ]
    code=0
    "$VOLFILTER" -f gaussian - o.tif </dev/null 2>err || code=$?
    [ "$code" -eq 1 ]
    only err
}

# Without an end, so without being read to it first.
test_a_stream_of_no_kind_that_is_read() {
    expect 1 -f gaussian - out.png </dev/zero
    says "standard input: is neither TIFF, PNG nor MRC (its first bytes are 00 00 00 00)"
    only out err
}

test_closed_pipe_is_an_error() {
    { code=0; "$VOLFILTER" -f gaussian:sigma=0 "$STACK" - 2>err || code=$?; echo $code >code; } | true
    [ "$(cat code)" -eq 1 ]
    says "standard output"
}

test_closed_streams() {
    code=0
    "$VOLFILTER" -f gaussian - o.tif <&- 2>err || code=$?
    [ "$code" -eq 1 ]
    "$VOLFILTER" -f gaussian "$SMALL" o.png >&-
    has o.png nx 102
    "$VOLFILTER" -f gaussian "$SMALL" o2.png 2>&-
    same o.png o2.png
}

# signalled SIGNAL CODE ARGUMENT...: volfilter gets the signal once it computes, which it has threads for.
signalled() {
    signal=$1
    expected=$2
    shift 2
    interruptible --threads 2 "$@" 2>err &
    child=$!
    computes "$child"
    kill -s "$signal" $child
    code=0
    wait $child || code=$?
    [ "$code" -eq "$expected" ]
}

# ended_by SIGNAL CODE ARGUMENT...: it also says so.
ended_by() {
    signalled "$@"
    says "interrupted"
}

test_interrupt_leaves_nothing() {
    for signal in INT TERM HUP ALRM; do
        case $signal in INT) number=130 ;; TERM) number=143 ;; HUP) number=129 ;; ALRM) number=142 ;; esac
        echo old >old.tif
        ended_by "$signal" "$number" -f ced:iterations=10000 "$STACK" old.tif
        [ "$(cat old.tif)" = old ]
        ended_by "$signal" "$number" -f ced:iterations=10000 "$STACK" - >out
        [ ! -s out ]
        only old.tif out err
    done
}

# Each would have a stack of 4 GB.
test_where_no_thread_starts() {
    is_sanitized && return
    # shellcheck disable=SC3045
    (ulimit -s 4000000) 2>/dev/null || return 0
    expect 0 -f gaussian "$STACK" whole.tif
    # shellcheck disable=SC3045
    ulimit -s 4000000 && ulimit -v 2000000
    expect 0 --threads 4 -f gaussian "$STACK" out.tif
    silent
    cmp whole.tif out.tif
    expect 1 --threads 4 --memory 15M -f gaussian "$STACK" slabs.tif
    says "cannot start a thread"
    only whole.tif out.tif out err
}

# As nohup asks for, and a shell for what is in the background. A signal that is not ignored is delivered before the
# next one, and its number is what counts.
test_ignored_signals_stay_ignored() {
    for signal in HUP INT; do
        (trap '' $signal && exec "$VOLFILTER" --threads 2 -f ced:iterations=10000 "$STACK" out.tif) &
        child=$!
        computes "$child"
        kill -s $signal $child
        kill -TERM $child
        code=0
        wait $child || code=$?
        [ "$code" -eq 143 ]
    done
}

# The result has no name yet, where the file system has such files; elsewhere the temporary one stays.
test_killed_leaves_nothing() {
    echo old >old.tif
    "$VOLFILTER" -f ced:iterations=10000 "$STACK" old.tif &
    child=$!
    until readlink /proc/$child/fd/* | grep "^$(pwd -P)/" >written; do
        kill -0 $child
        sleep 0.05
    done
    kill -KILL $child
    wait $child || true
    [ "$(cat old.tif)" = old ]
    ! grep -q '(deleted)$' written || only old.tif written
}

# It ends by itself: its steps take so little, also under sanitizers beside much else, that no timer does it before.
test_interrupt_ends_a_batch() {
    ended_by INT 130 -f perona-malik:k=10:iterations=10000 --out-dir d "$STACK" "$DATA/epi-time.tif"
    says "interrupted: 0 of 2 files done"
    [ -z "$(names d)" ]
    # What was not filtered does not count as done.
    signalled INT 130 --progress json -f perona-malik:k=10:iterations=10000 --out-dir d "$STACK"
    if grep '"done": \([0-9]*\), "total": \1,' err; then exit 1; fi
}

# It says what was done until then, to a pipe as well as to a file.
test_interrupt_leaves_a_report() {
    ended_by INT 130 -f perona-malik:k=10:iterations=10000 --out-dir d --report - "$STACK" >report
    grep -q '"interrupted": true' report
    grep -q '"status": "not done"' report
    [ "$(wc -l <err)" -eq 1 ]
}

# As timeout sends one to the program and to its group; two of the same kind might be delivered as one anyway.
test_signals_together_are_one() {
    for turn in 1 2 3; do
        "$VOLFILTER" -f perona-malik:k=10:iterations=10000 --out-dir d$turn --report r.json "$STACK" 2>err &
        child=$!
        computes "$child"
        kill -HUP $child
        kill -TERM $child
        code=0
        wait $child || code=$?
        [ "$code" -eq 129 ]
        grep -q '"interrupted": true' r.json
        rm r.json
    done
}

# interrupted_beside PROCESS FILE: volfilter, which was started last, is interrupted once FILE holds something, that
# is, once PROCESS, at the other end of its pipe, has written or read what it is to; that one is ended then.
interrupted_beside() {
    child=$!
    until [ -s "$2" ]; do sleep 0.02; done
    kill -INT $child
    code=0
    wait $child || code=$?
    kill "$1"
    [ "$code" -eq 130 ]
}

# More than a pipe holds was taken of a list that does not end.
test_interrupt_while_reading_a_list() {
    mkfifo pipe
    { yes "$SMALL" | head -c 200000 && echo >taken && exec sleep 300; } >pipe &
    writer=$!
    interruptible -f gaussian --out-dir d --from-file - <pipe 2>err &
    interrupted_beside $writer taken
    # The first where the signal ends a read, the other where it came just before one.
    grep -q "interrupted; nothing was filtered\|interrupted; nothing more was written" err
    only pipe taken err
}

# More than a pipe holds was taken from it, and there is no end.
test_interrupt_while_reading_a_pipe() {
    mkfifo pipe
    { head -c 200000 "$STACK" && echo >taken && exec sleep 300; } >pipe &
    writer=$!
    interruptible -f gaussian - o.tif <pipe 2>err &
    interrupted_beside $writer taken
    only pipe taken err
}

# Of more than a pipe holds the first byte was read.
test_interrupt_while_a_pipe_is_full() {
    mkfifo pipe
    { head -c 1 >first && exec sleep 300; } <pipe &
    reader=$!
    interruptible -f gaussian "$STACK" - 2>err >pipe &
    interrupted_beside $reader first
    says "interrupted"
}

# The files after it are not told of as damaged.
test_interrupt_ends_info() {
    mkfifo pipe
    { head -c 200000 "$STACK" && echo >taken && exec sleep 300; } >pipe &
    writer=$!
    interruptible info - "$STACK" "$SMALL" <pipe >out 2>err &
    interrupted_beside $writer taken
    [ ! -s out ]
    [ "$(wc -l <err)" -eq 1 ]
    says "interrupted"
}
