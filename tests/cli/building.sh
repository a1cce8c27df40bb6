# What make refuses to build.
# shellcheck shell=sh

makes() {
    env -u MAKEFLAGS -u MFLAGS make -n -C "$DATA/.." BUILD="$PWD/build" "$@" >made 2>&1
}

test_flags_that_change_results_are_refused() {
    makes CFLAGS='-O3 -g'
    for flags in -Ofast '-O3 -ffast-math' '-O3 -ffinite-math-only'; do
        ! makes CFLAGS="$flags"
        grep -q -e "${flags#-O3 }: results would differ" made
    done
}
