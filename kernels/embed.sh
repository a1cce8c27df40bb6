#!/bin/sh
# Device code as C: embed.sh FILE... prints the table of texts that src/nvrtc.h declares, under the names of
# their files.
set -eu

echo '/* Made by kernels/embed.sh. */'
echo '#include "src/nvrtc.h"'
n=0
for file in "$@"; do
    [ -r "$file" ] || { echo "embed.sh: cannot read $file" >&2; exit 1; }
    printf '\nstatic const unsigned char text_%d[] = { /* %s */\n' "$n" "$file"
    od -An -v -t u1 "$file" | sed 's/^ *//; s/ *$//; s/  */,/g; s/$/,/'
    echo '0};'
    n=$((n + 1))
done

printf '\nconst struct vf_text_header vf_kernel_texts[] = {\n'
n=0
for file in "$@"; do
    printf '    {"%s", (const char *)text_%d},\n' "$file" "$n"
    n=$((n + 1))
done
printf '};\nconst int vf_kernel_text_count = %d;\n' "$n"
