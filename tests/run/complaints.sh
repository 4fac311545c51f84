# complaints.sh - what muster complains about; behind lib.sh
# SPDX-License-Identifier: Apache-2.0

# complaints [FILE...]: the lines of err, or of these files, but those that tell of a busy machine.
# Whoever else runs tests here may keep a node from its heartbeats, and has runs that end badly.
complaints() {
    [ $# -gt 0 ] || set -- err
    grep -Ehv -e 'heartbeat round trips of up to' -e ': suspect: nothing heard' \
        -e ': heard again' -e 'of (an earlier run is|earlier runs are) still running' "$@"
}
