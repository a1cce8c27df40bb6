# What is not built: make and the compiler say why.
# shellcheck shell=sh

makes() {
    env -u MAKEFLAGS -u MFLAGS make -n -C "$DATA/.." BUILD="$PWD/build" "$@" >made 2>&1
}

test_flags_that_change_results_are_refused() {
    makes CFLAGS='-O3 -g'
    for flags in -Ofast '-O3 -ffast-math' '-O3 -ffinite-math-only'; do
        if makes CFLAGS="$flags"; then return 1; fi
        grep -q -e "${flags#-O3 }: results would differ" made
    done
}

test_32_bits_are_refused() {
    gcc -m32 -fsyntax-only -x c /dev/null || return 0
    if gcc -m32 -fsyntax-only -x c "$DATA/../src/size.h" 2>made; then return 1; fi
    grep -q "volfilter needs a 64-bit processor" made
}
