#!/bin/sh
# The environment reaches the ranks byte for byte, by DeepSpeed's rule and muster's options.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

echo_args=$top_builddir/tests/run/env/echo_args

# value NAME: as one rank sees it, raw, with a '.' behind it to keep its last newline.
value() {
    sed -n "s/^$(printf '%s=' "$1" | od -An -tx1 -v | tr -d ' \n')//p" out |
        python3 -c 'import sys
sys.stdout.buffer.write(bytes.fromhex(sys.stdin.read().strip()) + b".")'
}

has_variable() {
    grep -q "^$(printf '%s=' "$1" | od -An -tx1 -v | tr -d ' \n')" out
}

# Two nodes, so that the rule for many nodes holds.
environment() {
    run muster --show-ranks 1 --label none -H node1:1,node2:1 "$@" "$echo_args" --environment
}

all_bytes=$(python3 -c 'import sys
sys.stdout.buffer.write(bytes(range(1, 256)) + b".")')
all_bytes=${all_bytes%.}
odd='$HOME `id` "x" '"'y'"' \ * ; & 64(x2) {"k": 1}
second line '
export PYTHON_X="$all_bytes" NCCL_ODD="$odd" UCX_EMPTY=''
environment
is "the run works" "$rc" 0
is "PYTHON*: every byte but NUL" "$(value PYTHON_X)" "$all_bytes."
is "NCCL*: what a shell would have eaten" "$(value NCCL_ODD)" "$odd."
is "UCX*: an empty value" "$(value UCX_EMPTY)" "."
is "PYTHONPATH begins with the working directory" "$(value PYTHONPATH | cut -d: -f1)" "$PWD."
is "PATH comes too" "$(value PATH)" "$PATH."

cat >"$HOME/.deepspeed_env" <<END
# a comment

FROM_HOME=home
BOTH=home
END
cat >.deepspeed_env <<'END'
BOTH=here
QUOTED="a b"
LITERAL=$HOME `x`
END
environment
is "~/.deepspeed_env" "$(value FROM_HOME)" "home."
is "./.deepspeed_env is read after it" "$(value BOTH)" "here."
is "one pair of double quotes is taken off" "$(value QUOTED)" "a b."
is "nothing is expanded" "$(value LITERAL)" '$HOME `x`.'
rm .deepspeed_env "$HOME/.deepspeed_env"
ok "the user's files are only read" not test -e .deepspeed_env

echo 'ELSEWHERE=1' >settings
export DS_ENV_FILE=settings
environment
is "DS_ENV_FILE" "$(value ELSEWHERE)" "1."
unset DS_ENV_FILE
environment --env-file settings
is "--env-file" "$(value ELSEWHERE)" "1."
export CHOSEN="$odd"
environment --env CHOSEN --env SET=a=b --env BLANK=
is "--env NAME copies" "$(value CHOSEN)" "$odd."
is "--env NAME=VALUE, cut at the first =" "$(value SET)" "a=b."
is "--env NAME=" "$(value BLANK)" "."
export HF_HOME=/h HF_TOKEN=secret WANDB_MODE=off
environment --env-all=-HF_TOKEN,-WANDB_*
is "--env-all minus a list" "$(value HF_HOME) $(has_variable HF_TOKEN || echo no) $(has_variable WANDB_MODE || echo no)" \
    "/h. no no"
environment --env=-HF_TOKEN
ok "--env=-NAME: not even of this machine's environment" not has_variable HF_TOKEN
run env -u MUSTER_TRANSPORT muster -H localhost:1 --env=-HF_TOKEN --label none sh -c 'echo "$HF_HOME,$HF_TOKEN,$PATH"'
is "... nor for ranks on this machine alone" "$rc $(cat out)" "0 /h,,$PATH"
environment --env 'HF_*' --env=-HF_TOKEN --env HF_TOKEN=other
is "... unless it is set" "$(value HF_TOKEN)" "other."
run env MUSTER_TRANSPORT=ssh muster -v --dry-run -H te1:1,te2:1 --env-all=-HF_TOKEN,-WANDB_MODE true
is "-v does not name what was left out" "$rc $(cat out err | grep -c -e HF_TOKEN -e WANDB_MODE)" "0 0"
environment --env-all=HF_TOKEN
is "a list without '-': 2" "$rc" 2
ok "... says what to write" grep -q "write -NAME,-PATTERN such as -HF_TOKEN" err
unset HF_HOME HF_TOKEN WANDB_MODE
environment --env CERTAINLY_NOT_SET
is "--env of a variable that is not set" "$rc" 2
ok "... is named" grep -q CERTAINLY_NOT_SET err
echo 'no equals sign' >settings
environment --env-file settings
ok "a bad line is an error" test "$rc" != 0
ok "... with file and line" grep -q 'settings:1' err

printf 'node1 slots=1 env:COLOUR=red\nnode2 slots=1 env:COLOUR="dark blue"\n' >hosts
run muster --label none --show-ranks 1 --hostfile hosts "$echo_args" --environment
is "env: words of the hostfile are that host's" "$(value COLOUR)" "dark blue."
is "MUSTER_HOST is the host's name there" "$(value MUSTER_HOST)" "node2."
run muster -v --dry-run --hostfile hosts true
ok "... which --dry-run shows" grep -q '^  MUSTER_HOST=node1$' out
run muster exec --label none -H node2,node1 sh -c 'echo "$MUSTER_HOST"'
is "... which commands have, too" "$(sort out | tr '\n' ' ')" "node1 node2 "
environment --env MUSTER_HOST=other
is "... which cannot be set: 2" "$rc" 2
environment --env RANK=9
is "what muster sets itself cannot be set" "$rc" 2
ok "... and is named" grep -q RANK err
cat >venv.sh <<'END'
export FROM_VENV="in $0"
echo noise
END
environment --venv_script "$PWD/venv.sh"
ok "--venv_script" has_variable FROM_VENV
finish
