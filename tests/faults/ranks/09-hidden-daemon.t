#!/bin/sh
# Row 9: a rank exits well and leaves a daemon behind that has no environment and another name.
# None of it outlives the run, whichever layer contains it.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

escapes hidden
finish
