#!/bin/sh
# Row 8: a rank exits well and leaves a daemon behind: two forks and a session of its own.
# None of it outlives the run, whichever layer contains it.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

escapes daemon
finish
