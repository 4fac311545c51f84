#!/bin/sh
# Row 41: a node shows another host key than the one that is known. Never accepted; both
# fingerprints, the host and the place of the known one are in the report.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

world_control 2 sleep
ssh-keygen -q -t ed25519 -N '' -f other
sed -i "/node2/s|^\([^ ]*\) .*|\1 $(cut -d' ' -f1,2 other.pub)|" "$nodes_dir/known_hosts"
cp "$nodes_dir/known_hosts" before
line=$(grep -n node2 before | cut -d: -f1)
fingerprint() {
    ssh-keygen -lf "$1" | cut -d' ' -f2
}
faulty ./rank
within "muster returns" 5 "$began"
ended 77
says 'node2 +host key +.*changed' "known_hosts:$line" '1 of 2 nodes failed; nothing was started'
ok "the new fingerprint" grep -qF "$(fingerprint "$nodes_dir/node2/host_key.pub")" err
ok "the known one" grep -qF "$(fingerprint other.pub)" err
ok "no rank was started" all_ran 0
ok "known_hosts is as it was" cmp before "$nodes_dir/known_hosts"
finish
