# on_event.sh - a program for --on-event that keeps what it gets, for the scripts beside it
# SPDX-License-Identifier: Apache-2.0

# keep: a program that adds each event to the file events, and notes if its input goes on.
script_file keep <<'END_OF_PROGRAM'
#!/bin/sh
exec cat >>"$KEPT"
END_OF_PROGRAM
KEPT=$PWD/events
export KEPT

# begin: no event was seen.
begin() {
    : >events
}

# events EXPRESSION: of Python, over the list e of all events.
events() {
    python3 -c 'import json, sys
e = [json.loads(line) for line in open(sys.argv[1])]
names = " ".join(one["event"] for one in e)
def of(name, which=0):
    return [one for one in e if one["event"] == name][which]
print(eval(sys.argv[2]))' "$KEPT" "$1"
}

# has_event NAME: it came.
has_event() {
    grep -q "^{\"event\":\"$1\"" events
}
