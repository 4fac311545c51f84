#!/bin/sh
# Who the ranks are, and the command of each: as with DeepSpeed.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

: >train.py

argv() {
    run muster --dry-run --json plan.json -H te1:1 "$@"
    json plan.json 'd["command"]'
}
python3=$(command -v python3)
is "python: -u, script, --local_rank, arguments" "$(argv train.py --num_nodes 7 -- x)" \
    "['$python3', '-u', 'train.py', '--local_rank=0', '--num_nodes', '7', '--', 'x']"
is "one -- before the script is eaten" "$(argv -- train.py -x)" \
    "['$python3', '-u', 'train.py', '--local_rank=0', '-x']"
is "--no_local_rank" "$(argv --no_local_rank train.py)" "['$python3', '-u', 'train.py']"
is "--module" "$(argv --module --no_local_rank pkg.train a)" \
    "['$python3', '-u', '-m', 'pkg.train', 'a']"
is "--python" "$(argv --python /bin/sh --no_local_rank train.py)" "['/bin/sh', '-u', 'train.py']"
is "an executable runs as it is" "$(argv /bin/echo --x)" "['/bin/echo', '--x']"
run muster --dry-run -H te1:1 --module --no_python train.py
is "--module and --no_python" "$rc" 2
run muster --dry-run -H te1:1 ./nothing.py
is "a script that is not there" "$rc" 127


run muster --dry-run --json plan.json -H te1:2,te2:4 train.py
is "world size" "$(json plan.json 'd["world_size"]')" 6
is "ranks continue over the nodes" "$(json plan.json '[n["ranks"] for n in d["nodes"]]')" \
    "[[0, 1], [2, 3, 4, 5]]"
is "local rank is rank modulo local size" "$(json plan.json '[n["local_ranks"] for n in d["nodes"]]')" \
    "[[0, 1], [2, 3, 0, 1]]"
finish
