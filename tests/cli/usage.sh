# Wrong usage: exit status 2, a message that names the word, the nearest right one and what is allowed, no file.
# shellcheck shell=sh

test_unknown_options_and_the_nearest() {
    wrong "unknown option '--boundry'; did you mean '--boundary'? (volfilter --help lists all options)" \
        -f gaussian --boundry wrap "$IMAGE" o.png
    wrong "unknown option '--thread'; did you mean '--threads'?" -f gaussian --thread 2 "$IMAGE" o.png
    wrong "unknown option '-x' (volfilter --help lists all options)" -x -f gaussian "$IMAGE" o.png
    wrong "option '--quiet' takes no value" --quiet=1 -f gaussian "$IMAGE" o.png
    wrong "option '-f' needs CHAIN" "$IMAGE" o.png -f
    wrong "option '--memory' needs SIZE: a size of at least 1M" -f gaussian "$IMAGE" o.png --memory
}

test_files_that_begin_like_options() {
    cp "$IMAGE" ./-dash.png
    expect 2 -f gaussian -dash.png o.png
    says "unknown option '-d'; for the file of that name write ./-dash.png"
    expect 0 -f gaussian ./-dash.png o.png
    expect 0 -f gaussian -- -dash.png o.png
}

test_no_filter() {
    wrong "no filter given; 'volfilter -f CHAIN IN OUT' filters a file"
    wrong "no filter given" "$IMAGE" o.png
    wrong "no filter given; did you mean '-f gaussian'?" gaussian "$IMAGE" o.png
    wrong "did you mean 'volfilter list'?" lst
    wrong "did you mean '-f gaussian'?" gausian:sigma=2 "$IMAGE" o.png
    wrong "the chain is empty" -f '' "$IMAGE" o.png
}

test_number_of_files() {
    wrong "no files given: volfilter -f CHAIN IN OUT" -f gaussian
    wrong "only one file given" -f gaussian "$IMAGE"
    wrong "3 files given, IN and OUT expected; to filter several, use --out-dir DIR" -f gaussian "$IMAGE" "$SMALL" b.png
    wrong "3 files given, IN and OUT expected, and there is no file 'a.png'; to filter several" -f gaussian "$IMAGE" a.png b.png
    wrong "4 files given, IN and OUT expected, and there is no file 'sigma=2'; parameters follow their filter: -f FILTER:KEY=VALUE" \
        -f gaussian sigma=2 "$IMAGE" - a.png
    wrong "3 files given, IN and OUT expected, and there is no file 'sigma=2'; parameters" -f gaussian "$IMAGE" a.png sigma=2
    wrong "and there is no file 'gradient:sigma=2'; parameters follow" -f gaussian gradient:sigma=2 "$IMAGE" a.png
    wrong "and there is no file 'gradient'; filters are joined by commas: -f FILTER,FILTER" -f gaussian "$IMAGE" a.png gradient
    wrong "no files given: volfilter -f CHAIN --out-dir DIR IN..." -f gaussian --out-dir d
    wrong "--suffix needs --out-dir" -f gaussian --suffix _g "$IMAGE" o.png
    wrong "--suffix=a/b is not understood" -f gaussian --out-dir d --suffix a/b "$IMAGE"
    wrong "info needs a file" info
    wrong "list takes no arguments, but got 'gaussian'" list gaussian
    wrong "devices takes no arguments, but got 'gpu'" devices gpu
    wrong "--like is only for tune, which takes chains without -f" -f gaussian --like "$IMAGE" "$IMAGE" o.png
    wrong "--budget=soon is not understood; allowed: a number above 0" tune --budget soon
    wrong "--budget=0 is out of range; allowed: a number above 0" tune --budget 0
}

test_options_that_a_command_does_not_take() {
    wrong "list does not take --json; volfilter help list shows what it takes" list --json
    wrong "help does not take --json" --json help gaussian
    wrong "info does not take --dtype" info --dtype uint8 "$IMAGE"
    wrong "info does not take --like" info --like "$IMAGE" "$IMAGE"
    wrong "devices does not take --threads" devices --threads 2
    wrong "tune does not take --memory" tune --memory 1G gaussian
    wrong "tune does not take --json" tune --json
    wrong "tune takes chains without -f: volfilter tune [CHAIN]..." tune -f gaussian
    cp "$IMAGE" info
    expect 2 info -f gaussian o.png
    says "info does not take -f; volfilter help info shows what it takes (a file of that name is ./info)"
    [ ! -e o.png ]
    expect 0 -f gaussian info o.png
    expect 0 -q -v info "$IMAGE"
}

test_empty_names() {
    wrong "file 1 of 2 has an empty name" -f gaussian '' o.png
    wrong "file 2 of 2 has an empty name" -f gaussian "$IMAGE" ''
    wrong "file 2 of 2 has an empty name" -f gaussian --out-dir d "$IMAGE" ''
    wrong "file 1 of 1 has an empty name" -f gaussian --out-dir d --tree ''
    wrong "file 1 of 1 has an empty name" info ''
    wrong "--out-dir= needs the name of a directory" -f gaussian --out-dir '' "$IMAGE"
    wrong "--from-file= needs the name of a file" -f gaussian --out-dir d --from-file ''
    wrong "--report= needs the name of a file" -f gaussian --out-dir d --report '' "$IMAGE"
    wrong "--like= needs the name of a file" tune --like ''
}

test_unknown_filters_and_parameters() {
    wrong "unknown filter 'gausian'; did you mean 'gaussian'? (volfilter list shows all filters)" \
        -f gausian "$IMAGE" o.png
    wrong "unknown filter 'zzzzzz' (volfilter list shows all filters)" -f zzzzzz "$IMAGE" o.png
    wrong "there is no filter, command or option 'gausian'; did you mean 'gaussian'?" help gausian
    wrong "unknown filter '5'; commas separate filters: write decimals with a point, and vectors as 2x2x1" -f gaussian:sigma=1,5 "$IMAGE" o.png
    for chain in "gaussian sigma=2" "gaussian:sigma=2,truncate=3" "gaussian;median" "gaussian(sigma=2)"; do
        wrong "; ':' begins a parameter and ',' a filter: write gaussian:sigma=2:truncate=3,gradient (volfilter list" \
            -f "$chain" "$IMAGE" o.png
    done
    wrong "gaussian: no parameter 'sgima'; did you mean 'sigma'? its parameters: sigma, truncate (volfilter help gaussian" \
        -f gaussian:sgima=2 "$IMAGE" o.png
    wrong "perona-malik: no parameter 'kappa'; did you mean 'k'?" -f perona-malik:kappa=2 "$IMAGE" o.png
    wrong "did you mean 'iterations'?" -f eed:n_iter=2 "$IMAGE" o.png
    wrong "no parameter 'mode'; did you mean '--boundary'? its parameters: sigma" -f gaussian:mode=wrap "$IMAGE" o.png
    wrong "did you mean '--boundary'? a filter's parameters follow its name: -f eed:mode=VALUE" \
        -f gaussian --mode reflect "$IMAGE" o.png
    wrong "srad: no parameter 'dt'; its parameters: iterations" -f srad:dt=1 "$IMAGE" o.png
    wrong "did you mean 'sigma'?" -f gaussian:radius=2 "$IMAGE" o.png
    wrong "did you mean 'radius'?" -f mean:size=3 "$IMAGE" o.png
    wrong "did you mean 'radius'?" -f median:ksize=3 "$IMAGE" o.png
    wrong "did you mean 'sigma2'?" -f dog:high_sigma=2 "$IMAGE" o.png
    wrong "gradient: method=sobol is not understood; did you mean 'sobel'? allowed: central, sobel, scharr or gaussian" \
        -f gradient:method=sobol "$IMAGE" o.png
}

test_chain_structure() {
    wrong "a filter is missing before or after a comma" -f gaussian, "$IMAGE" o.png
    wrong "a filter is missing before or after a comma" -f ,gaussian "$IMAGE" o.png
    wrong "gaussian: sigma needs a value" -f gaussian:sigma= "$IMAGE" o.png
    wrong "gaussian: sigma is given twice" -f gaussian:sigma=1:sigma=2 "$IMAGE" o.png
    wrong "gaussian: a parameter is empty" -f gaussian: "$IMAGE" o.png
    wrong "gaussian: '3' has no name" -f gaussian:1:3 "$IMAGE" o.png
    chain=gaussian
    for _ in 1 2 3 4 5 6 7; do chain=$chain,$chain; done
    wrong "a chain of 128 filters is too long; the maximum is 64" -f "$chain" "$IMAGE" o.png
}

test_values_out_of_range() {
    wrong "gaussian: sigma=-1 is out of range; allowed: a length from 0 to 1000 voxels" \
        -f gaussian:sigma=-1 "$IMAGE" o.png
    wrong "gaussian: sigma=1e9 is out of range; allowed: a length from 0 to 1000 voxels" \
        -f gaussian:sigma=1e9 "$IMAGE" o.png
    wrong "gaussian: sigma=nan is not understood; allowed: a length from 0 to 1000 voxels" \
        -f gaussian:sigma=nan "$IMAGE" o.png
    wrong "gaussian: sigma=inf is not understood" -f gaussian:sigma=inf "$IMAGE" o.png
    wrong "median: radius=4 is out of range; allowed: a whole number from 1 to 3" -f median:radius=4 "$IMAGE" o.png
    wrong "median: radius=3 is for 2D images; in a stack use 1 or 2, or 3 with --slices" -f median:radius=3 "$STACK" o.tif
    wrong "perona-malik: iterations=0 is out of range; allowed: a whole number from 1" \
        -f perona-malik:iterations=0 "$IMAGE" o.png
    wrong "perona-malik: k=p101 is out of range" -f perona-malik:k=p101 "$IMAGE" o.png
    wrong "perona-malik: dt=-0.1 is out of range" -f perona-malik:dt=-0.1 "$IMAGE" o.png
}

test_step_above_its_bound() {
    expect 2 -f perona-malik:dt=0.24 "$STACK" o.tif
    says "dt"
    only out err
    expect 2 -f eed:dt=0.2499 "$STACK" o.tif
    says "dt"
    only out err
    expect 0 -f perona-malik:iterations=1:dt=0.24 "$IMAGE" o.png
}

test_unit_without_spacing() {
    wrong "sigma=1um needs the voxel size along x, which is not known (72 and 96 dpi of a TIFF or PNG count as not stated); add --spacing XxYxZum" \
        -f gaussian:sigma=1um "$SMALL" o.png
    wrong "sigma=1um needs the voxel size along x, which is known only without a unit of length; add --spacing" \
        --spacing 1x1x1 -f gaussian:sigma=1um "$SMALL" o.png
    expect 0 --spacing 1x1x1um -f gaussian:sigma=1um "$SMALL" o.png
}

test_noise_boxes() {
    wrong "and: noise has two sizes, for x and y; a stack needs WxHxD+X+Y+Z" -f and:noise=8x8+0+0 "$STACK" o.tif
    wrong "leave one of them out" -f and:noise=8x8+0+0:threshold=4 "$SMALL" o.png
    expect 0 --slices -f and:noise=8x8+0+0:iterations=1 "$STACK" o.tif
}

test_option_values() {
    wrong "--boundary=neares is not understood; did you mean 'nearest'? allowed: nearest, reflect, mirror, constant" \
        --boundary=neares -f gaussian "$IMAGE" o.png
    wrong "--boundary=edge is not understood; did you mean 'nearest'? allowed: nearest" \
        --boundary edge -f gaussian "$IMAGE" o.png
    wrong "did you mean 'mirror'?" --boundary BORDER_REFLECT_101 -f gaussian "$IMAGE" o.png
    wrong "did you mean 'wrap'?" --boundary grid-wrap -f gaussian "$IMAGE" o.png
    wrong "--boundary=constant=x is not understood; 'constant=' needs a number, such as constant=1.5" --boundary constant=x -f gaussian "$IMAGE" o.png
    wrong "--threads=0 is out of range; allowed: a whole number from 1 to 1024" --threads 0 -f gaussian "$IMAGE" o.png
    wrong "--threads=two is not understood" --threads two -f gaussian "$IMAGE" o.png
    wrong "--memory=5 is out of range; allowed: a size of at least 1M" --memory 5 -f gaussian "$IMAGE" o.png
    wrong "--memory=1Q is not understood" --memory 1Q -f gaussian "$IMAGE" o.png
    wrong "--spacing=1x0x1 is out of range" --spacing 1x0x1 -f gaussian "$IMAGE" o.png
    wrong "--spacing=1e-30um is out of range" --spacing 1e-30um -f gaussian "$IMAGE" o.png
    wrong "--boundary=constant=1e39 exceeds 3.4e38, float32's largest" --boundary constant=1e39 -f gaussian "$IMAGE" o.png
    wrong "--spacing=1vox is not understood" --spacing 1vox -f gaussian "$IMAGE" o.png
    wrong "--dtype=unit8 is not understood; did you mean 'uint8'?" --dtype unit8 -f gaussian "$IMAGE" o.png
    wrong "--precision=half is not understood; allowed: auto, single (or float) or double" \
        --precision half -f gaussian "$IMAGE" o.png
    wrong "did you mean 'float64'?" --dtype double -f gaussian "$IMAGE" o.png
    wrong "--compress=zst is not understood; did you mean 'zstd'?" --compress zst -f gaussian "$IMAGE" o.tif
    wrong "did you mean 'deflate'?" --compress zip -f gaussian "$IMAGE" o.tif
    wrong "--progress=alway is not understood; did you mean 'always'?" --progress alway -f gaussian "$IMAGE" o.png
    wrong "--backend=opencl is not understood; allowed: auto, cpu or cuda" --backend opencl -f gaussian "$IMAGE" o.png
}

test_schemes() {
    wrong "--scheme nonsense: the CPU has row-stream" --scheme nonsense -f gaussian "$SMALL" o.png
    wrong "did you mean 'big-tile'?" --scheme big-tyle -f gaussian "$SMALL" o.png
    # Once, not for each file.
    wrong "--scheme nonsense: the CPU has" --scheme nonsense -f gaussian --out-dir d "$SMALL" "$IMAGE"
    [ "$(wc -l <err)" -eq 1 ]
    wrong "--scheme= is not understood" --scheme= -f gaussian "$SMALL" o.png
    wrong ", each for the whole chain" --scheme GX=row-stream -f gaussian "$SMALL" o.png
}

test_weights() {
    wrong "convolve: file is missing; write convolve:file=PATH" -f convolve "$IMAGE" o.png
    wrong "convolve: file=no.txt: cannot be read: No such file or directory (a path in a chain cannot contain ',' or ':')" \
        -f convolve:no.txt "$IMAGE" o.png
    wrong "convolve: file=a: cannot be read: No such file or directory (a path in a chain cannot contain ',' or ':')" \
        -f convolve:a,b.txt "$IMAGE" o.png
    wrong "is not a regular file but a directory" -f convolve:/ "$IMAGE" o.png
    wrong "convolve: file=$IMAGE: is not plain text (an image, a spreadsheet or UTF-16?)" \
        -f "convolve:$IMAGE" "$IMAGE" o.png
    wrong "/3x3x3.txt has 3 planes of weights (blank lines separate planes), which need a stack" \
        -f "convolve:$DATA/../tests/weights/3x3x3.txt" "$IMAGE" o.png
    wrong "give one plane" --slices -f "convolve:$DATA/../tests/weights/3x3x3.txt" "$STACK" o.tif
}
