#!/bin/sh
# The Pod of a worker ends: muster-init passes SIGTERM on to the agent, for which it is a notice to all
# ranks, and the ranks, which would die of a SIGTERM, can save. What the agent leaves gets it later.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

need_init() {
    [ -x "$top_builddir/k8s/muster-init" ] ||
        { echo "muster-k8s was not built (libcurl is missing)"; return 1; }
}
need init
need root # for a PID namespace: it signals all processes that it sees

script_file rank <<'END'
#!/bin/sh
cd "${0%/*}" || exit 1
trap 'until [ -e "$MUSTER_NOTICE_FILE" ]; do sleep 0.1; done; : >saved; echo "rank saved" >>order; sleep 300 & wait' USR1
echo ready >ready
while :; do
    sleep 0.1
done
END
# Somebody's shell in the Pod.
script_file shell <<'END'
#!/bin/sh
cd "${0%/*}" || exit 1
trap 'echo "shell told" >>order; exit 0' TERM
echo ready >ready.shell
while :; do
    sleep 0.1
done
END

start unshare --pid --fork --kill-child --mount-proc "$top_builddir/k8s/muster-init" --idle
pod=$pid
first_process() {
    init=$(pgrep -P "$pod" -x muster-init)
}
ok "muster-init waits" wait_for 20 first_process
in_pod() {
    MUSTER_TEST_TAG=$tag exec nsenter -t "$init" -p -m sh -c 'cd "$0" && exec "$@"' "$PWD" "$@"
}
in_pod "$PWD/shell" &
test_pids="$test_pids $!"
in_pod env PATH="$PATH" muster --transport=exec -H node1:1 --no_local_rank --no_python \
    --ckpt-marker saved --max-restarts 0 --max-wait 1 ./rank >run.out 2>run.err </dev/null &
run=$!
test_pids="$test_pids $run"
has_begun() {
    [ -s ready ] && [ -s ready.shell ]
}
ok "a run in it, and a shell" wait_for 30 has_begun || cat run.err
kill -TERM "$init"
finish_run 60
ok "the agent's notice" grep -qF "node1 leaves in 30 s (its machine, Pod or login session is ending: \
muster's agent received SIGTERM" run.err || sed 's/^/# /' run.err
ok "the rank has saved" grep -q 'checkpoint written after' run.err
is "before anything else was told" "$(head -1 order)" "rank saved"
is "the shell is told when the agent has gone" "$(tail -1 order)" "shell told"
ok "nothing is left" no_leftovers
finish
