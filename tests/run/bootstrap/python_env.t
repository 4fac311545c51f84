#!/bin/sh
# [python] and [conda] of bootstrap.conf: the file goes to the node, an environment is made of it once,
# again when the file has changed, and undo removes it. pip is real, without a network: its only
# package is beside it. Of conda there is only its command line.
# SPDX-License-Identifier: Apache-2.0

. "$(dirname "$0")/../lib.sh"

own_namespaces
python3 -m venv "$tmp/try" 2>/dev/null || skip_all "no python3 -m venv with ensurepip"
rm -r "$tmp/try"

mkdir lib data packages
mount --bind lib /var/lib
export PIP_NO_CACHE_DIR=1 PIP_DEFAULT_TIMEOUT=1000

# wheel VERSION: of a module that knows its version.
wheel() {
    python3 - "$1" packages <<'END'
import sys, zipfile
version, place = sys.argv[1:]
info = "muster_tiny-%s.dist-info" % version
with zipfile.ZipFile("%s/muster_tiny-%s-py3-none-any.whl" % (place, version), "w") as wheel:
    wheel.writestr("muster_tiny.py", "version = '%s'\n" % version)
    wheel.writestr(info + "/METADATA", "Metadata-Version: 2.1\nName: muster-tiny\nVersion: %s\n" % version)
    wheel.writestr(info + "/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(info + "/RECORD", "")
END
}

bootstrap() {
    run muster bootstrap -H localhost --only python,conda "$@"
}

# needs VERSION: what the user's file says.
needs() {
    printf '%s\n' --no-index "--find-links $PWD/packages" "muster-tiny==$1" >needed.txt
}

# has VERSION: what the environment has.
has() {
    [ "$(data/venv/bin/python -c 'import muster_tiny; print(muster_tiny.version)')" = "$1" ]
}

wheel 1
wheel 2
needs 1
printf '[python]\nrequirements = needed.txt\ndirectory = %s\n' "$PWD/data" >conf
bootstrap conf
is "a plan with an environment succeeds" "$rc" 0 || sed 's/^/#   /' err
ok "it says where it will be" grep -q "^localhost  python: $PWD/data/venv: make this environment" out
ok "and how it is filled" grep -q "python: $PWD/data/venv: pip install -r needed.txt (" out
is "it makes nothing" "$(ls -A data)" ""

bootstrap --apply conf
is "it is applied" "$rc" 0 || sed 's/^/#   /' err
ok "the environment has the package" has 1
is "the file, which may have a password, is not for others to read" \
    "$(stat -c %a data/.muster-venv/requirements.txt data/.muster-venv/installed | sort -u)" 600
stat -c %Y data/venv/pyvenv.cfg >made
bootstrap --apply conf
is "a second apply changes nothing" "$(cat out)" "localhost: nothing needs to be changed"

needs 2
bootstrap conf
ok "a file that has changed is planned" grep -q "python: $PWD/data/venv: pip install -r needed.txt" out
ok "but no new environment" not grep -q 'make this environment\|-m venv' out
bootstrap --apply conf
is "it is installed again" "$rc" 0
ok "... with the other version" has 2
is "... into the same environment" "$(stat -c %Y data/venv/pyvenv.cfg)" "$(cat made)"

needs 3
bootstrap --apply conf
is "a package that does not exist is a failure" "$rc" 1
ok "with the last lines of pip" grep -q \
    'python: failed: .*bin/pip: exit status 1: .*ERROR: .* | ERROR: No matching distribution found for muster-tiny==3' err
ok "and what may be the cause" grep -q 'does this node reach the index of packages?' err
ok "the environment is as it was" has 2
needs 2
bootstrap conf
ok "it is not taken for whole" grep -q 'pip install -r' out
bootstrap --apply conf
is "with the right file it is whole again" "$rc" 0

# An index that never answers.
take_port
printf '%s\n' "--index-url http://127.0.0.1:$taken_port/" other >needed.txt
{ cat conf && echo "time_limit = 2s"; } >hurry
bootstrap --apply hurry
is "an index that does not answer is a failure at the limit" "$rc" 1
ok "which is named" grep -q 'python: failed: .*bin/pip: not finished after 2 s' err
pip_runs() {
    pgrep -f "^$PWD/data/venv/bin/python.* install --no-input" >pip
}
start muster bootstrap -H localhost --only python --apply conf
ok "muster waits for it otherwise" wait_for 30 pip_runs
kill -KILL "$(ps -o ppid= -p "$(head -1 pip)" | tr -d ' ')" # the agent's child: as in a power cut
finish_run 30
ok "a node that is cut off is a failure" not same "$rc" 0
wait_for 10 not pip_runs
needs 1
bootstrap --apply conf
is "the next apply completes it" "$rc" 0 || sed 's/^/#   /' err
ok "with what the file says now" has 1

rm -r data/venv
bootstrap --apply conf
is "an environment that is gone is made again" "$rc" 0 || sed 's/^/#   /' err
ok "... whole" has 1
rm data/venv/bin/pip data/.muster-venv/installed
bootstrap --apply conf
ok "and one that was cut off in between" has 1
bootstrap --apply conf
is "... which is all" "$(cat out)" "localhost: nothing needs to be changed"
bootstrap --undo
is "undo removes all of it" "$rc $(ls -A data)" "0 " || sed 's/^/#   /' err

mkdir -p data/venv
echo mine >data/venv/notes
bootstrap --apply conf
is "what somebody else has made is refused" "$rc $(cat data/venv/notes)" "1 mine"
ok "which is said" grep -q "failed: $PWD/data/venv exists, and is not of muster" err
ok "with what to do" grep -q '^ *choose another directory in \[python\], or remove' err
bootstrap --undo
is "undo does not remove it, either" "$(cat data/venv/notes)" mine
rm -r data/venv

# The data disk, and the file.
printf '[data]\nmount = %s\n[python]\nrequirements = needed.txt\n' "$PWD/data" >conf
bootstrap --apply conf
is "nothing comes onto the system's disk" "$rc $(ls -A data)" "1 "
ok "which is said" grep -q "nothing is mounted at $PWD/data, so $PWD/data would be on the system's" err
mount -t tmpfs tmpfs data
bootstrap --apply conf
is "but onto the data disk" "$rc" 0
ok "... whole" has 1
bootstrap --undo
is "and undo removes it" "$rc $(ls -A data)" "0 "
umount data
: >needed.txt
bootstrap conf
is "an empty file is refused" "$rc" 65
rm needed.txt
bootstrap conf
is "so is one that is not there" "$rc" 65
ok "which is said" grep -q '\[python\] requirements: needed.txt: ' err

# conda, as far as its command line goes.
printf 'name: train\ndependencies:\n  - python=3.11\n' >environment.yml
printf '[conda]\nenvironment = environment.yml\ndirectory = %s\n' "$PWD/data" >conf
PATH=$(dirname "$(command -v muster)"):/usr/bin:/bin:/usr/sbin:/sbin # without a conda of this machine
bootstrap --apply conf
is "without conda there is no environment" "$rc $(ls -A data)" "1 "
ok "which is said" grep -q 'conda: failed: neither conda nor mamba nor micromamba is in PATH' err
ok "with what to do" grep -q '^ *install Miniforge, and name its folder: \[shell\] conda' err
mkdir -p miniforge/bin
script_file miniforge/bin/conda <<END
#!/bin/sh
[ "\$1" != --version ] || exit 0
echo "\$@" >>$PWD/arguments
mkdir -p $PWD/data/env/conda-meta
cp "\$6" $PWD/data/env
END
{ cat conf && printf '[shell]\nconda = %s\n' "$PWD/miniforge"; } >with_base
bootstrap --apply with_base
is "conda makes it" "$rc $(cat arguments)" \
    "0 env create -p $PWD/data/env -f $PWD/data/.muster-env/environment.yml" || sed 's/^/#   /' err
ok "of the file that was sent" cmp environment.yml data/env/environment.yml
bootstrap --apply with_base
is "a second apply changes nothing" "$(cat out)" "localhost: nothing needs to be changed"
echo '  - numpy' >>environment.yml
bootstrap --apply with_base
is "a file that has changed is an update" "$rc $(tail -n 1 arguments)" \
    "0 env update -p $PWD/data/env -f $PWD/data/.muster-env/environment.yml --prune"
bootstrap --undo
is "undo removes it" "$rc $(ls -A data)" "0 "
ok "nothing is left" no_leftovers

finish
