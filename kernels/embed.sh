#!/bin/sh
# Device code as C: embed.sh NAMEs FILE... prints a table NAMEs of texts (src/nvrtc.h) under the names of their
# files, NAME_count, and NAME_digest, the SHA-256 of all names and texts, a line's end after each.
set -eu
name=${1%s}
shift

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

printf '\nconst struct vf_text_header %ss[] = {\n' "$name"
n=0
for file in "$@"; do
    printf '    {"%s", (const char *)text_%d},\n' "$file" "$n"
    n=$((n + 1))
done
printf '};\nconst int %s_count = %d;\n' "$name" "$n"
digest=$(for file in "$@"; do echo "$file" && cat "$file" && echo; done | sha256sum | cut -d ' ' -f 1)
[ ${#digest} -eq 64 ] || { echo "embed.sh: sha256sum fails" >&2; exit 1; }
printf 'const char %s_digest[] = "%s";\n' "$name" "$digest"
