#!/bin/sh
# An elastic job's worker is taken out of the hostfile, as a ConfigMap's volume is changed: the run goes
# on without it, its agent goes, and muster-init asks the worker to end.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

need_init() {
    [ -x "$top_builddir/k8s/muster-init" ] ||
        { echo "muster-k8s was not built (libcurl is missing)"; return 1; }
}
need init

# hosts NUMBER NAME...: as kubelet does it: the directory that a link names is another one.
hosts() {
    mkdir -p "volume/..$1"
    number=$1
    shift
    {
        echo "# generation 1"
        for host in "$@"; do
            echo "$host slots=1"
        done
    } >"volume/..$number/hostfile"
    ln -s "..$number" volume/..new
    mv -T volume/..new volume/..data
    [ -e volume/hostfile ] || ln -s ..data/hostfile volume/hostfile
}

hosts 1 node1 node2
start muster --transport=exec --hostfile=volume/hostfile --nnodes=1:4 --grace 2 \
    --no_local_rank --no_python sh -c \
    'echo "world $WORLD_SIZE"; [ "$WORLD_SIZE" = 1 ] && until [ -e end ]; do sleep 0.1; done || sleep 300'
runs_with() {
    [ "$(grep -c "world $1$" out)" -ge "$1" ]
}
agents() {
    pgrep -P "$pid" -c -x muster-agent
}
ok "the run has two workers" wait_for 30 runs_with 2
is "each with an agent" "$(agents)" 2
hosts 2 node1
ok "it goes on with one" wait_for 30 runs_with 1
ok "the ranks had a notice" wait_for 20 grep -q 'node2 leaves in 2 s (its host is no longer on the list)' err
has_one() {
    [ "$(agents)" = 1 ]
}
ok "the other one has no agent any more" wait_for 30 has_one
: >end
finish_run 30
is "it ends well" "$rc" 0

# muster-init, with a program in muster's place that keeps what it is asked.
mkdir bin
printf '#!/bin/sh\necho "$@" >asked.new\nmv asked.new asked\n' >bin/muster
chmod +x bin/muster
hosts 3
start env PATH="$PWD/bin:$PATH" "$top_builddir/k8s/muster-init" --wait=volume/hostfile -- \
    sh -c 'echo ready; until [ -e done ]; do sleep 0.1; done; exit 7'
runs() {
    grep -q ready out
}
was_asked() {
    [ -e asked ]
}
ok "a launcher starts" wait_for 30 runs
hosts 4 te-worker-0.te.space.svc te-worker-1.te.space.svc te-worker-10.te.space.svc te-worker-11.te.space.svc
# It has read all of that once, at least.
bytes_read() {
    sed -n 's/^rchar: //p' "/proc/$pid/io"
}
before=$(bytes_read)
has_looked() {
    [ "$(bytes_read)" -ge "$((before + 2 * $(wc -c <volume/hostfile)))" ]
}
wait_for 30 has_looked
ok "workers that come are not asked anything" not was_asked
hosts 5 te-worker-0.te.space.svc te-worker-10.te.space.svc
ok "those that go are" wait_for 30 was_asked
is "to end when they are let go" "$(sed 's/--ssh-config=[^ ]* //; s/--timeout=[^ ]* //' asked)" \
    "exec -H te-worker-1.te.space.svc,te-worker-11.te.space.svc -- muster-init --leave"
: >done
finish_run 30
is "its exit status is the command's" "$rc" 7
finish
