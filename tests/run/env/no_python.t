#!/bin/sh
# muster doctor of a node without the Python that the ranks would get: what was looked for and who has
# named it, what the node has instead, and what to do.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

# said TEXT: the finding about the interpreter has it.
said() {
    grep -E '^FAIL +node1 +python ' out | grep -qF -e "$1"
}
unset VIRTUAL_ENV CONDA_PREFIX
mkdir none venv venv/bin
python=$(python3 -c 'import sys; print(sys.executable)')

run muster doctor -H node1:1 --python /nowhere/python
is "another Python: 2" "$rc" 2
ok "... what is missing, who has named it, and what there is" said \
    "no /nowhere/python there (--python), but $python  "
ok "... and what to type" said "name one that it has: --python, or python= in the hostfile: $python"
echo "node1 slots=1 python=/elsewhere/python" >hosts
run muster doctor --hostfile hosts
ok "the hostfile's Python is the one that is looked for" said \
    "no /elsewhere/python there (python= of the hostfile), but "

# The PATH of a node here is that of the launcher, whose Python does not start either.
printf '#!/bin/sh\nexit 3\n' >none/python3
chmod +x none/python3
muster=$(command -v muster)
run env PATH="$PWD/none" "$muster" doctor -H node1:1 --python /nowhere/python
ok "no Python at all" said "no /nowhere/python there (--python), and no python3 that starts  "
ok "... and what to do" said "install python3 there, mount the disk that has it, or copy it there"
echo '#!/nowhere/interpreter' >venv/bin/python
chmod +x venv/bin/python
run env VIRTUAL_ENV="$PWD/venv" muster doctor -H node1:1
ok "that of an environment" said "no $PWD/venv/bin/python there (VIRTUAL_ENV), but "
run env PATH="$PWD/none" "$muster" doctor -H node1:1
ok "one that fails, found on the launcher's PATH" said \
    "$PWD/none/python3 (python3 on PATH of the launcher): exit status 3"
ok "nothing is left" no_leftovers
finish
