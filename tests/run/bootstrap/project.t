#!/bin/sh
# [project] of bootstrap.conf: a repository of git is cloned, follows its branch, or stays at a commit;
# work that is nowhere else is neither replaced nor removed; git never asks.
# SPDX-License-Identifier: Apache-2.0

. "$(dirname "$0")/../lib.sh"

command -v git >/dev/null || skip_all "no git"
own_namespaces

mkdir lib data
mount --bind lib /var/lib
export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=me GIT_AUTHOR_EMAIL=me@here GIT_COMMITTER_NAME=me \
    GIT_COMMITTER_EMAIL=me@here

bootstrap() {
    run muster bootstrap -H localhost --only project "$@"
}

# commit TEXT: to the repository.
commit() {
    echo "$1" >work/train.py
    git -C work add train.py && git -C work commit -q -m "$1" && git -C work push -q origin HEAD:main
}

at() {
    git -C data/train rev-parse HEAD
}

git init -q --bare -b main remote.git
git init -q -b main work
git -C work remote add origin "$PWD/remote.git"
commit one
one=$(git -C work rev-parse HEAD)

printf '[project]\ngit = %s\ndirectory = %s\n' "$PWD/remote.git" "$PWD/data/train" >conf
bootstrap conf
is "a plan with a project succeeds" "$rc" 0 || sed 's/^/#   /' err
ok "it says what would be cloned" grep -q "^localhost  project: $PWD/data/train: git clone $PWD/remote.git" out
ok "and which commit that is" grep -q "git checkout main, which is at $(echo "$one" | cut -c 1-10)" out
is "it clones nothing" "$(ls -A data)" ""
bootstrap --apply conf
is "it is applied" "$rc $(at)" "0 $one" || sed 's/^/#   /' err
is "all of it is there, on its branch" "$(git -C data/train status --short --branch)" "## main...origin/main"
bootstrap --apply conf
is "a second apply changes nothing" "$(cat out)" "localhost: nothing needs to be changed"

commit two
two=$(git -C work rev-parse HEAD)
bootstrap conf
ok "a new commit is planned" grep -q "git checkout main, which is at $(echo "$two" | cut -c 1-10)" out
echo mine >>data/train/train.py
bootstrap --apply conf
is "but a checkout with changes stays" "$rc $(at) $(tail -n 1 data/train/train.py)" "1 $one mine"
ok "which is said" grep -q "project: failed: $PWD/data/train has changes: git status:  M train.py" err
ok "with what to do" grep -q '^ *commit and push that, or remove it' err
git -C data/train commit -q -a -m mine
mine=$(at)
bootstrap --apply conf
is "so does one with a commit of its own" "$rc $(at)" "1 $mine"
ok "which is said, too" grep -q 'has a commit that its remote has not: [0-9a-f]* mine' err
bootstrap --undo
is "undo does not remove it" "$rc $(at)" "1 $mine"
ok "and says why" grep -q 'project: failed: .*has a commit that its remote has not: [0-9a-f]* mine' err
git -C data/train reset -q --hard "$one"
bootstrap --apply conf
is "without these it follows" "$rc $(at)" "0 $two"
is "... its branch" "$(git -C data/train status --short --branch)" "## main...origin/main"

sed "\$acommit = $one" conf >pinned
bootstrap --apply pinned
is "a commit can be chosen" "$rc $(at)" "0 $one"
bootstrap --apply pinned
is "... once" "$(cat out)" "localhost: nothing needs to be changed"
mkdir -p data/train/__pycache__ data/train/model
printf '__pycache__/\nmodel/\n' >>data/train/.git/info/exclude
: >data/train/model/weights
: >data/train/__pycache__/train.pyc
bootstrap --undo
is "undo does not remove what git ignores, either" "$rc $(ls data/train/model)" "1 weights"
ok "and says so" grep -q 'project: failed: .*has changes: git status: !! model/' err
rm -r data/train/model
bootstrap --undo
is "but what Python makes" "$rc $(ls -A data)" "0 "

# The power goes while it is cloned.
git clone -q remote.git data/train.muster-new
rm -r data/train.muster-new/.git/refs
bootstrap --apply conf
is "half a clone is made again" "$rc $(at) $(ls data)" "0 $two train" || sed 's/^/#   /' err
mkdir data/train.muster-new
mv data/train gone
bootstrap --undo
is "and undo removes half a clone" "$rc $(ls -A data)" "0 "
mv gone data/train
git -C data/train checkout -q -B main "$one"
bootstrap --apply conf
is "a checkout that was here follows, too" "$rc $(at)" "0 $two"
bootstrap --undo
is "undo takes it back to where it was" "$rc $(at)" "0 $one"
bootstrap --apply conf
git -C data/train commit -q --allow-empty -m mine
mine=$(at)
bootstrap --undo
is "unless it has gone on since" "$rc $(at)" "1 $mine"
rm -r data/train

# What cannot be cloned.
mkdir data/train
bootstrap --apply conf
ok "a folder that is no checkout is refused" grep -q "$PWD/data/train exists, and is no checkout" err
rmdir data/train
git clone -q work data/train
bootstrap --apply conf
ok "so is one of another repository" grep -q "$PWD/data/train is a checkout of $PWD/work" err
rm -rf data/train
sed '$abranch = nowhere' conf >wrong
bootstrap --apply wrong
ok "and a branch that is not there" grep -q "failed: $PWD/remote.git has no branch nowhere" err
python3 -c 'import http.server
class Locked(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(401)
        self.send_header("WWW-Authenticate", "Basic")
        self.end_headers()
server = http.server.HTTPServer(("127.0.0.1", 0), Locked)
print(server.server_port, flush=True)
server.serve_forever()' >http 2>/dev/null &
server=$!
wait_for 10 [ -s http ]
if [ -x "$(git --exec-path)/git-remote-http" ]; then
    printf '[project]\ngit = http://127.0.0.1:%s/a.git\ndirectory = %s\n' "$(cat http)" "$PWD/data/train" >locked
    run setsid -w muster bootstrap -H localhost --only project --apply locked
    ok "git does not ask for a password" grep -q 'project: failed: git: .*terminal prompts disabled' err
fi
kill $server
take_port
printf '[project]\ngit = git://127.0.0.1:%s/a.git\ncommit = %s\ndirectory = %s\ntime_limit = 1s\n' \
    "$taken_port" "$one" "$PWD/data/train" >hurry
bootstrap --apply hurry
is "a remote that does not answer is a failure at the limit" "$rc" 1
ok "which is named" grep -q 'project: failed: .*: not finished after 1 s' err
bootstrap --undo
printf '[data]\nmount = %s\n[project]\ngit = %s\n' "$PWD/data" "$PWD/remote.git" >conf
bootstrap --apply conf
ok "nothing is cloned to the system's disk" grep -q "nothing is mounted at $PWD/data, so $PWD/data/remote would" err
is "... indeed" "$(ls -A data)" ""
ok "nothing is left" no_leftovers

finish
