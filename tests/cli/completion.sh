# Completion: what a chain can become, and the scripts for shells.
# shellcheck shell=sh

# completes WORD CANDIDATE...: these and no others.
completes() {
    word=$1
    shift
    expect 0 --complete-chain "$word"
    if ! printf '%s\n' "$@" | cmp -s - out; then
        echo "'$word' becomes:"
        cat out
        return 1
    fi
}

test_chains() {
    completes perona perona-malik
    completes gaussian:2,grad gaussian:2,gradient
    completes gaussian:t gaussian:truncate=
    completes gaussian:sigma=2:t gaussian:sigma=2:truncate=
    completes gradient:method=s gradient:method=sobel gradient:method=scharr
    completes gaussian,gradient:output=c gaussian,gradient:output=components
    completes gaussian=t gaussian=truncate=
    completes perona-malik:k=a perona-malik:k=auto
    mkdir -p d/kernels
    touch d/weights.txt d/wide,1.txt d/.hidden
    completes convolve:f convolve:file= convolve:flip=
    completes gaussian,convolve:file=d/w gaussian,convolve:file=d/weights.txt
    completes convolve:file=d/k convolve:file=d/kernels/
    completes convolve:d/w convolve:d/weights.txt
    completes gradient:s gradient:sigma= gradient:sobel gradient:scharr
    completes convolve:file=d/.h convolve:file=d/.hidden
    expect 0 --complete-chain convolve:file=nowhere/
    [ ! -s out ]
    expect 0 --complete-chain ''
    "$VOLFILTER" list | sed 's/ .*//' | cmp - out
    for word in nonsense nonsense:x gaussian:nonsense= gaussian:sigma= convolve:flip=yes:d/w gradient:output=x:sc ',,'; do
        expect 0 --complete-chain "$word"
        [ ! -s out ] || [ "$word" = ',,' ]
    done
}

test_scripts_know_every_option() {
    for shell in bash zsh fish; do
        expect 0 --completion $shell
        cp out script
        for option in $("$VOLFILTER" --help | sed -n 's/^  .. \{0,1\}.*--\([a-z-]*\).*/\1/p'); do
            grep -q -e "[- ]$option" script
        done
        if command -v $shell >/dev/null; then
            $shell -n script
        fi
    done
    "$VOLFILTER" --completion fish | grep -q "^complete -c volfilter -l filter -n 'not .*' -s f -x -a "
    "$VOLFILTER" --completion fish | grep -q "^complete -c volfilter -l suffix -n 'not .*' -x -d "
    # Those that a command does not take are not offered behind it, and what only tune takes, behind tune alone.
    "$VOLFILTER" --completion fish | grep -q "^complete -c volfilter -l quiet -s q -d "
    "$VOLFILTER" --completion fish | grep -q "^complete -c volfilter -l budget -n '__fish_seen_subcommand_from tune' -x -d "
    "$VOLFILTER" --completion zsh | grep -qF "[[ \$words[2] == (list|help|info|devices) ]] || options+=('--dtype="
    "$VOLFILTER" --completion zsh | grep -qF "[[ \$words[2] == (tune) ]] && options+=('--budget="
    "$VOLFILTER" --completion zsh | grep -q "^options+=('--quiet"
    [ "$("$VOLFILTER" --completion zsh | grep -c '\[the same\]')" -eq 1 ]
    expect 2 --completion csh
    says "allowed: bash, zsh or fish"
}

test_fish() {
    command -v fish >/dev/null || return 0
    mkdir bin
    ln -s "$VOLFILTER" bin/volfilter
    "$VOLFILTER" --completion fish >script
    echo >list.txt
    for line in '--from-file li:list.txt' '--compress z:zstd' '-f perona:perona-malik' 'tune perona:perona-malik' \
        'tune --bu:--budget' 'info a.tif --j:--json'; do
        PATH=$PWD/bin:$PATH HOME=$PWD fish -c "source script; complete -C 'volfilter ${line%:*}'" >found
        grep -q -e "^${line##*:}" found
    done
    PATH=$PWD/bin:$PATH HOME=$PWD fish -c "source script; complete -C 'volfilter info a.tif --'" >found
    [ "$(cut -f 1 found | sort | paste -sd ' ')" = "--json --quiet --verbose" ]
}

# bash_completes LINE CANDIDATE...
bash_completes() {
    line=$1
    shift
    mkdir -p bin
    ln -sf "$VOLFILTER" bin/volfilter
    "$VOLFILTER" --completion bash >script
    # shellcheck disable=SC2016
    PATH=$PWD/bin:$PATH bash -c '
        compopt() { :; }
        . ./script
        COMP_LINE=$1 COMP_POINT=${#1}
        _volfilter
        printf "%s\n" "${COMPREPLY[@]}"' bash "$line" >found
    if ! printf '%s\n' "$@" | cmp -s - found; then
        echo "'$line' becomes:"
        cat found
        return 1
    fi
}

test_bash() {
    command -v bash >/dev/null || return 0
    bash_completes 'volfilter --compr' --compress
    bash_completes 'volfilter --compress ' none lzw deflate zstd
    bash_completes 'volfilter --compress=z' zstd
    bash_completes 'volfilter -f gaussian:2,grad' 2,gradient
    bash_completes 'volfilter --json -f gradient:method=s' sobel scharr
    bash_completes 'volfilter inf' info
    bash_completes 'volfilter help per' perona-malik
    bash_completes 'volfilter help --bou' --boundary
    bash_completes 'volfilter info a.tif --' --json --quiet --verbose
    bash_completes 'volfilter tune --bu' --budget
    bash_completes 'volfilter --bu' ''
    bash_completes 'volfilter --backend ' auto cpu cuda gpu
    bash_completes 'volfilter tune gaussian perona' perona-malik
    bash_completes 'volfilter -- --compr' ''
}
