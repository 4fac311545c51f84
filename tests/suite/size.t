#!/bin/sh
# What one can read at a sitting: no function over 60 lines, no file over 600, no folder over 40
# files; no line of C or C++ over 100 columns.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/run/lib.sh"

# sources NAMES...: the files below these folders that somebody writes; a build may be among them.
sources() {
    find "$@" -type f \( -name '*.[ch]' -o -name '*.cc' -o -name '*.cu' -o -name '*.sh' \
        -o -name '*.t' -o -name '*.py' \)
    find "$@" -type f ! -name '*.*' -size -200k -exec grep -lI '^#!' {} +
}

long_files() {
    xargs wc -l <"$list" | awk '$1 > 600 && $2 != "total" { print $2 ": " $1 " lines" }'
}

full_folders() {
    sed 's|/[^/]*$||' "$list" | sort | uniq -c | awk '$1 > 40 { print $2 ": " $1 " files" }'
}

# Characters, not bytes; python3 knows them whatever the locale.
long_lines() {
    grep -E '\.(c|h|cc|cu)$' "$list" | xargs python3 -c 'import sys
for name in sys.argv[1:]:
    for number, line in enumerate(open(name, encoding="utf-8"), 1):
        if len(line.rstrip("\n")) > 100:
            print(f"{name}:{number}: {len(line) - 1} columns")'
}

# A brace in the first column begins a function in C, and its name in shell; one in the first column
# ends it in both.
long_functions() {
    xargs awk '
        FNR == 1 { start = 0; is_c = FILENAME ~ /\.(c|h|cc|cu)$/ }
        is_c ? /^{$/ : /^[a-z_0-9]+\(\) [{(]$/ { start = FNR }
        /^[})]$/ && start { say(FNR - start + 1); start = 0 }
        function say(lines) { if (lines > 60) print FILENAME ":" start ": " lines " lines" }
        ' <"$list"
    xargs awk 'FNR == 1 && (/^#!.*python/ || FILENAME ~ /\.py$/) { print FILENAME }' <"$list" |
        xargs python3 -c 'import ast, sys
for name in sys.argv[1:]:
    for f in ast.walk(ast.parse(open(name).read())):
        if isinstance(f, ast.FunctionDef) and f.end_lineno - f.lineno >= 60:
            print(f"{name}:{f.lineno}: {f.end_lineno - f.lineno + 1} lines")'
}

# too_large TOP: what is, of the folders there.
too_large() {
    (cd "$1" && sources launcher agent client common trainer k8s tests >"$list" &&
        long_functions && long_files && full_folders && long_lines)
}

list=$PWD/sources
is "the tree keeps to that" "$(too_large "$top_srcdir")" ""

mkdir -p tree/launcher/full tree/agent tree/client tree/common tree/trainer tree/k8s tree/tests
for number in $(seq 41); do
    : >"tree/launcher/full/$number.c"
done
yes '' | head -n 601 >tree/agent/long.c
{ echo 'int f(void)'; echo '{'; yes '    ;' | head -n 59; echo '}'; } >tree/common/function.c
printf '/* %0100d */\n' 0 >tree/trainer/line.cc
{ echo '#!/bin/sh'; echo 'f() {'; yes '    :' | head -n 59; echo '}'; } >tree/tests/script
{ echo '#!/usr/bin/env python3'; echo 'def f():'; yes '    pass' | head -n 60; } >tree/tests/program.py
is "what does not is named" "$(too_large tree)" "common/function.c:2: 61 lines
tests/script:2: 61 lines
tests/program.py:2: 61 lines
agent/long.c: 601 lines
launcher/full: 41 files
trainer/line.cc:1: 106 columns"
finish
