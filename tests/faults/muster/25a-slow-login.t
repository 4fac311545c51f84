#!/bin/sh
# Row 25a: the session is killed on a node on which a login takes 1.5 s. The node waits for as long
# as another one takes, without being told to, and the run continues with every byte.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

case $(getent passwd "$(id -un)" | cut -d: -f7) in
*/bash) ;;
*) skip_all "the login shell here is not bash" ;;
esac
world_control 2 count
echo 'sleep 1.5' >"$nodes_dir/node1/home/.bashrc"
faulty_start 4 --grace 1 ./rank
session_kill node1
ok "muster has found its node again within 10 s" wait_for 10 grep -q 'node1: reconnected' err
ok "... not before the login was done" wait_for 20 grep -Eq 'node1: reconnected after (1\.[5-9]|[2-9])' err
ok "every rank continues" wait_for 10 all_count_to 4 200
: >go
finish_run 20
ended 0
ok "every rank's lines are there: once, in order" all_counted 4
# The time that is given holds.
rm go
faulty_start 4 --grace 1 --reconnect 0.5 ./rank
session_kill node1
finish_within "half a second of waiting: muster returns" 8 "$since"
ended 69
says "node1 +running +connection lost.*reconnecting: "
finish
