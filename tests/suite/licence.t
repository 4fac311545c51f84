#!/bin/sh
# Each source has its licence, on a line of its own: clang-format likes to fill it into a paragraph.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/run/lib.sh"

# unlicensed TOP: the sources there without that line.
unlicensed() {
    (cd "$1" && find launcher agent client common trainer k8s tests -type f \( -name '*.[ch]' \
        -o -name '*.cc' -o -name '*.cu' -o -name '*.sh' -o -name '*.t' -o -name '*.py' \) \
        -exec grep -LE '^(( \*|#|//|/\*) )?SPDX-License-Identifier: Apache-2.0( \*/)?$' {} +)
}

is "each source has its licence" "$(unlicensed "$top_srcdir")" ""
mkdir -p tree/launcher tree/agent tree/client tree/common tree/trainer tree/k8s tree/tests
printf '/* a.c - some text. SPDX-License-Identifier: Apache-2.0\n */\n' >tree/launcher/a.c
is "one within a paragraph is found" "$(unlicensed tree)" "launcher/a.c"
finish
