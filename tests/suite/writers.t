#!/bin/sh
# tests/suite/writers: only the files that run.h and agent.h name write a field of struct run or
# struct agent, and a second writer is named.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/run/lib.sh"

ls /usr/bin/clang-query* >/dev/null 2>&1 || skip_all "no clang-query (Debian: clang-tools)"

run "$top_srcdir/tests/suite/writers" "$top_builddir"
is "the tree keeps to its tables" "$rc $(cat out err)" "0 "

# A copy of the sources, to break.
mkdir tree
(cd "$top_srcdir" && find launcher agent common client -name '*.[ch]') >files
tar -cf - -C "$top_srcdir" -T files | tar -xf - -C tree

# breaks FILE CODE SAYS: appends the code to the file, and notes what writers must say.
breaks() {
    echo "$2" >>"tree/$1"
    echo "$1:$(wc -l <"tree/$1"): $3" >>said
}

breaks launcher/run/hang.c "void f(struct run *r) { r->is_start_told = true; }" \
    "writes is_start_told of launcher/run/run.h, which belongs to agent_frames.c"
breaks launcher/bcast/bcast.c "void f(struct run *r) { struct policy *p = &r->policy; p->ports++; }" \
    "writes ports of launcher/elastic/policy.h, which belongs to generation.c, launcher/elastic/"
breaks agent/session/ending.c "void f(struct agent *a) { a->guard.fd++; }" \
    "writes fd of agent/guard/guard.h, which belongs to agent/guard/, guard/guard.c"
run "$top_srcdir/tests/suite/writers" "$top_builddir" tree
is "fields that other files write: 1" "$rc" 1
is "... it says who, where, and whose they are" "$(sed 's/:[0-9]*, /, /' out | sort)" "$(sort said)"

sed -i 's|^struct agent {|&\n    int of_nobody;\n|' tree/agent/session/agent.h
run "$top_srcdir/tests/suite/writers" "$top_builddir" tree
is "a field without a writer: 1" "$rc" 1
ok "... it says so" grep -q '^agent/session/agent.h:[0-9]*: who writes of_nobody?' err
finish
