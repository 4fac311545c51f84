#!/bin/sh
# Row 62: a hostfile that wants to be more than a list of names. Refused, with file and line, before
# anything is run.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

rank_does <<'END'
exit 0
END
control 1 -H node1:1 ./rank
# refused WHAT LINE: the second line of a hostfile.
refused() {
    printf 'good slots=1\n%s\n' "$2" >hosts
    began=$(now_ms)
    ran_reset
    run muster --hostfile hosts --env FAULT=yes ./rank
    now_ms >ended_ms
    is "$1: 65" "$rc" 65
    says 'hosts:2'
    within "... muster returns" 0.3 "$began"
}
refused "an option of ssh" '-oProxyCommand=touch${IFS}X slots=1'
refused "an option of ssh with a space" '-oProxyCommand=touch X slots=1'
refused "a command behind a semicolon" 'a;touch${IFS}X slots=1'
refused "command substitution" '$(touch${IFS}X) slots=1'
refused "backquotes" '`touch${IFS}X` slots=1'
refused "a pipe" 'a|touch slots=1'
refused "a path" '../../X slots=1'
refused "a control character" "$(printf 'a\033[2Jb slots=1')"
ok "... is not sent to the terminal" not grep -q "$(printf '\033')" err
refused "a user that is an option" '-lroot@a slots=1'
refused "too many slots" 'a slots=99999999999999999999'
refused "a negative number of slots" 'a slots=-1'
ok "nothing was executed" test ! -e X -a ! -e "$HOME/X"
ended 65
finish
