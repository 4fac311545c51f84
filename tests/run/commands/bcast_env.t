#!/bin/sh
# A Python environment that nodes lack: the failed start names a command, and after this command the
# start works. A virtual environment in the working directory, one whose Python is elsewhere, and
# one as conda makes it.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

own_namespaces
use_netns 2
disk=$nodes_dir/disk
python=/usr/bin/python3
[ -x "$python" ] || python=$(command -v python3)
unset VIRTUAL_ENV CONDA_PREFIX PYTHONPATH PYTHONHOME

# environment DIR PYTHON: a virtual environment with a module of its own
environment() {
    "$2" -m venv --without-pip --symlinks "$1"
    echo 'words = "from the environment"' >"$(echo "$1"/lib/python3*/site-packages)/only_here.py"
}

# Does what the last start named.
follow_hint() {
    cp err hint
    command=$(sed -n 's/.*copy it with: //p' hint)
    run sh -c "$command"
}

both_ran() {
    is "... then it runs: exit status 0" "$rc" 0
    is "... on both nodes" "$(grep -c 'from the environment' out)" 2
}

# In the working directory
mkdir "$disk/my project"
environment "$disk/my project/.venv" "$python"
cat >"$disk/my project/train.py" <<'END'
import only_here
print(only_here.words)
END
in_project() {
    cd "$disk/my project" || return
    run env VIRTUAL_ENV="$disk/my project/.venv" muster --no_local_rank --num_gpus 1 train.py
    mv out err "$OLDPWD/"
    cd "$OLDPWD" || return
}
in_project
is "no working directory on the nodes: 126" "$rc" 126
follow_hint
is "... the hint copies it, with its links" "$rc $(cat err)" "0 "
ok "... as it names the command" grep -q "copy it with: muster bcast '$disk/my project'\$" hint
in_project
both_ran
is "... without another word" "$(cat err)" ""
rm -rf "$nodes_dir"/node?/disk/*

# Elsewhere, as uv and pyenv make it: the environment leads to a Python in the user's own files.
mkdir -p "$disk/pythons/mine/bin" "$disk/pythons/mine/lib"
version=$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
cp "$(readlink -f "$python")" "$disk/pythons/mine/bin/$version"
ln -s "$("$python" -c 'import os; print(os.path.dirname(os.__file__))')" \
    "$disk/pythons/mine/lib/$version"
environment "$disk/environment" "$disk/pythons/mine/bin/$version"
echo 'import only_here; print(only_here.words)' >here.py
start_here() {
    run muster --no_local_rank --num_gpus 1 -H "$MUSTER_HOSTFILE" \
        --python "$disk/environment/bin/python" here.py
}
start_here
is "no environment on the nodes: 127" "$rc" 127
follow_hint
ok "... the hint names all of it" \
    grep -q "copy it with: muster bcast -H=$MUSTER_HOSTFILE $disk/environment\$" hint
is "... which copies it: 0" "$rc" 0
ok "... and says that its Python is not there" \
    grep -q "^  node\[1-2\]  .*: leads to $disk/pythons/mine/bin/$version, which is not there" err
start_here
is "without that Python: 127" "$rc" 127
ok "... it is named" grep -q "cannot execute $disk/environment/bin/python: it leads to \
$disk/pythons/mine/bin/$version, which is not there" err
follow_hint
ok "... the hint names its directory" \
    grep -q "copy it with: muster bcast -H=$MUSTER_HOSTFILE $disk/pythons/mine\$" hint
is "... and copies it" "$rc $(cat err)" "0 "
start_here
both_ran

# The environment is there, but not what was installed into it since.
rm "$nodes_dir"/node2/disk/environment/lib/python3*/site-packages/only_here.py
start_here
is "a module that a node lacks: 1" "$rc" 1
follow_hint
ok "... the hint names the environment, which has it here" \
    grep -q "copy it with: muster bcast -H=$MUSTER_HOSTFILE $disk/environment\$" hint
ok "... and what else it may be" grep -q "If the node has it, compare their versions of Python: muster doctor" hint
is "... and copies it" "$rc $(cat err)" "0 "
start_here
both_ran
rm -rf "$nodes_dir"/node?/disk/*

# A script for --venv_script, and a file that the script reads.
echo 'export FROM_VENV=1' >"$disk/activate.sh"
echo '{"words": "from the environment"}' >"$disk/ds.json"
echo 'import json, sys; print(json.load(open(sys.argv[1]))["words"])' >reads.py
reads() {
    run muster --no_local_rank --num_gpus 1 --python "$python" --venv_script "$disk/activate.sh" \
        reads.py "$disk/ds.json"
}
reads
is "no --venv_script on the nodes: 126" "$rc" 126
ok "... the hint names it" grep -q "copy it with: muster bcast $disk/activate.sh\$" err
follow_hint
reads
is "a file that the script reads: 1" "$rc" 1
ok "... the hint names it" grep -q "copy it with: muster bcast $disk/ds.json\$" err
follow_hint
reads
both_ran
rm "$disk/ds.json" "$nodes_dir"/node?/disk/ds.json
reads
ok "... but not one that is not here, either" not grep -q hint: err
mkdir "$disk/.keys"
echo secret >"$disk/.keys/key"
run muster --no_local_rank --num_gpus 1 --python "$python" --venv_script "$disk/activate.sh" \
    reads.py "$disk/.keys/key"
ok "... nor a hidden one" not grep -q "copy it" err
ok "... which the rank has named" grep -q "No such file or directory: '$disk/.keys/key'" err

# conda: files that are links to a cache, among each other, and up and down.
mkdir -p "$disk/cache" "$disk/conda/bin" "$disk/conda/conda-meta" "$disk/conda/lib" \
    "$disk/conda/share/terminfo"
conda=$disk/conda
mv "$disk/pythons/mine/bin/$version" "$disk/cache/"
ln "$disk/cache/$version" "$conda/bin/$version"
ln "$conda/bin/$version" "$conda/bin/$version-config"
ln -s "$version" "$conda/bin/python"
ln -s ../share/terminfo "$conda/lib/terminfo"
ln -s "share/../lib" "$conda/lib64"
ln -s "$conda/lib/terminfo" "$conda/share/absolute"
ln -s nowhere "$conda/share/dangling"
ln -s "$("$python" -c 'import os; print(os.path.dirname(os.__file__))')" "$conda/lib/$version"
mkdir "$conda/modules"
echo 'words = "from the environment"' >"$conda/modules/only_here.py"
start_here() {
    run muster --no_local_rank --num_gpus 1 --env "PYTHONPATH=$conda/modules" "$@" \
        --python "$conda/bin/python" here.py
}
start_here
ok "conda: the hint names all of it" grep -q "copy it with: muster bcast $conda\$" err
start_here --push "$conda"
both_ran
is "... without another word" "$(cat err)" ""
on_node1=$nodes_dir/node1/disk/conda
is "... hard links are links" "$(stat -c %h "$on_node1/bin/$version")" 2
is "... symbolic links are as they are" \
    "$(cd "$on_node1" && readlink bin/python lib/terminfo lib64 share/absolute share/dangling | xargs)" \
    "$version ../share/terminfo share/../lib $conda/lib/terminfo nowhere"
is "... directories have their times" "$(stat -c %y "$on_node1/share" "$on_node1")" \
    "$(stat -c %y "$conda/share" "$conda")"

# What the distribution installs is not copied.
run muster exec -- "$disk/no/such"
ok "what is not here, either, is not to be copied" sh -c '! grep -q "copy it with" err'
ln -s /usr/bin/no-such-program "$disk/tool"
run muster bcast "$disk/tool"
is "a link to nothing here: 65" "$rc" 65
ok "nothing is left" no_leftovers
finish
