#!/bin/sh
# Row 7: a rank exits well and leaves a child behind, as data loaders do.
# None of it outlives the run, whichever layer contains it.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

escapes child
finish
