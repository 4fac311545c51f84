#!/bin/sh
# Row 43: login shells that talk: before the agent comes, 64 KiB of it, in the middle of a line.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

world_nodes 2
case $(getent passwd "$(id -un)" | cut -d: -f7) in
*/bash) ;;
*) skip_all "the login shell here is not bash" ;;
esac
rank_does <<'END'
echo "rank $RANK"
exit 3
END
control 4 ./rank
echo 'head -c 65536 /dev/urandom; printf "(base) no newline"; echo noise >&2' \
    >"$nodes_dir/node1/home/.bashrc"
control 4 ./rank
faulty ./rank
ended 3
ok "the noise is not output" sh -c "test \$(sort -u out | grep -cv '^node[12]:[0-3]: rank [0-3]$') = 0"
# More than anybody would read.
echo 'exec head -c 2000000 /dev/zero' >"$nodes_dir/node1/home/.bashrc"
faulty ./rank
ended 76
says 'node1 +agent +'
ok "no rank was started" all_ran 0
finish
