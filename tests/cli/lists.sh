# Lists of chains that are kept by hand: each has every filter, or says beside it which are left out and why.
# shellcheck shell=sh disable=SC2016

# names_each FILE PATTERN [ADVICE]: FILE of the sources has every filter; FILTER stands for its name in both.
names_each() {
    file=$1
    for filter in $("$VOLFILTER" list | sed 's/ .*//'); do
        # shellcheck disable=SC2001
        pattern=$(echo "$2" | sed "s/FILTER/$filter/")
        if ! grep -qE -- "$pattern" "$DATA/../$file"; then
            # shellcheck disable=SC2001
            advice=$(echo "${3:-}" | sed "s/FILTER/$filter/")
            echo "$file does not have the filter '$filter': add it to the list there$advice"
            missing=1
        fi
    done
}

test_lists_have_every_filter() {
    missing=0
    in_c='["`]FILTER["`:,]'
    or=', or name it as one that is left out (`NAME` in the comment above)'
    names_each tests/test_schemes.c "$in_c"
    names_each tests/cuda/test_cuda_run.c "$in_c"
    names_each tests/test_not_finite.c "$in_c"
    names_each tests/test_gpu_plan.c "$in_c"
    names_each src/tune.c "$in_c" "$or"
    names_each kernels/precompile/precompile.c "$in_c" "$or"
    names_each tests/compile/compile_kernels.c "$in_c"
    names_each tests/bench/bench_tables.c "$in_c"
    names_each tests/bench/bench_gpu_stencils.c "$in_c"
    names_each tests/bench/instructions.txt '^[0-9]* FILTER(:|$)' ' by way of tests/bench/count and make count COUNT="--write FILTER"'
    names_each README.md '^\| `FILTER` \| .* \|$'
    [ $missing -eq 0 ]
}
