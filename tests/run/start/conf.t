#!/bin/sh
# Settings: defaults < conf files < environment < command line; mistakes are errors.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

# address ARGUMENTS...: where the setting under test ended up.
address() {
    run muster --dry-run --json plan.json -H te1:1 "$@" true
    if [ "$rc" = 0 ]; then
        json plan.json 'd["master_addr"]'
    else
        echo "exit $rc"
    fi
}

is "default: not known before the nodes answer" "$(address)" "None"
mkdir -p "$HOME/.config/muster"
printf '[muster]\nmaster_addr = from-home\n' >"$HOME/.config/muster/muster.conf"
is "~/.config/muster/muster.conf" "$(address)" "from-home"
printf '[muster]\nmaster_addr = from-config\n' >other.conf
is "--config comes over it" "$(address --config other.conf)" "from-config"
export MUSTER_MASTER_ADDR=from-env
is "the environment over the files" "$(address --config other.conf)" "from-env"
is "the command line over all" "$(address --config other.conf --master_addr from-argv)" "from-argv"
unset MUSTER_MASTER_ADDR
rm "$HOME/.config/muster/muster.conf"

printf '# comment\n[muster]\nno-such-key = 1\n' >bad.conf
is "an unknown key is an error" "$(address --config bad.conf)" "exit 65"
ok "... with file, line and key" grep -q 'bad.conf:3.*no-such-key' err
printf '[muster]\nmaster_port = 99999\n' >bad.conf
is "a bad value is an error" "$(address --config bad.conf)" "exit 65"
ok "... with file and line" grep -q 'bad.conf:2' err
printf '[elsewhere]\nfanout = 1\n' >bad.conf
is "an unknown section is an error" "$(address --config bad.conf)" "exit 65"
{ printf '[muster]\nmaster_addr = a\n# '; head -c 300 /dev/zero | tr '\0' x; echo; } >long.conf
is "a line longer than 200 bytes is read or refused, not cut" \
    "$(address --config long.conf | sed 's/exit 65/a/')" "a"
is "--config of a file that is not there" "$(address --config none.conf)" "exit 65"
export MUSTER_MASTER_PORT=x
is "a bad value in the environment" "$(address)" "exit 2"
ok "... names the variable" grep -q MUSTER_MASTER_PORT err
unset MUSTER_MASTER_PORT
is "the example as it is changes nothing" "$(address --config "$top_srcdir/conf/muster.conf")" "None"
finish
