#!/bin/sh
# The manual, the example settings and the program know the same options.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/run/lib.sh"

muster --list-options | awk '{ print $1 }' | tr '_' '-' | sort -u >known
ok "there are options" test "$(wc -l <known)" -gt 30

# In a man page "-" is written "\-", and options begin a line of their own.
manual_options() {
    sed -e 's/\\-/-/g' -e 's/\\fB\|\\fI\|\\fR\|\\fP//g' "$top_srcdir/doc/muster.1" |
        grep -E '^\.(B|BR|BI|IP|TP|It Fl|Fl) ?|^--?' | grep -oE -e '--[a-z][a-z0-9_-]*' |
        sed 's/^--//' | tr '_' '-' | sort -u
}
manual_options >documented
missing=$(comm -23 known documented | tr '\n' ' ')
is "muster.1 has every option" "$missing" ""

# --local_rank is what the scripts get.
muster --help | grep -oE -e '--[a-z][a-z0-9_-]*' | sed 's/^--//' | tr '_' '-' | sort -u >helped
is "--help invents none" "$(comm -13 known helped | grep -vx local-rank | tr '\n' ' ')" ""
ok "--help is short enough to read" test "$(muster --help | wc -l)" -le 100
is "--help fits 90 columns" "$(muster --help | awk 'length > 90')" ""

sed -n 's/^#* *\([a-z][a-z0-9_-]*\) *=.*/\1/p' "$top_srcdir/conf/muster.conf" | tr '_' '-' | sort -u >example
is "the example conf invents none" "$(comm -13 known example | tr '\n' ' ')" ""

if command -v bash >/dev/null; then
    # shellcheck disable=SC2016
    is "the completion knows the subcommands" "$(bash -c '. "$0"; for word in check clean bcast status attach stop; do
        COMP_WORDS=(muster "$word") COMP_CWORD=1; _muster
        [[ " ${COMPREPLY[*]} " == *" $word "* ]] || echo "$word"
    done' "$top_srcdir/contrib/completion/muster" 2>/dev/null)" ""
else
    skip "the completion knows the subcommands" "bash is missing"
fi

for page in muster.1 muster-agent.8 muster.conf.5 hostfile.5; do
    if command -v man >/dev/null; then
        is "$page is clean" \
            "$(LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$top_srcdir/doc/$page" 2>&1 >/dev/null)" ""
    else
        skip "$page is clean" "man(1) is missing (Debian: man-db)"
    fi
done
ok "--version names the libraries" sh -c "muster --version | grep -qi libssh"
if command -v readelf >/dev/null; then
    linked=static
    ! readelf -lW "$top_builddir/agent/muster-agent" | grep -q INTERP || linked=dynamic
    is "--version says how the agent is linked" \
        "$(muster --version | sed -n 's/^ *agent: \([a-z]*\);.*/\1/p')" "$linked"
else
    skip "--version says how the agent is linked" "readelf is missing (Debian: binutils)"
fi
finish
