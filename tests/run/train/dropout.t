#!/bin/sh
# muster-train: dropout is the same however a training is divided or continued.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/train/small.sh"

train 9
losses >plain.losses
train 5 --dropout 0.1 --checkpoint_dir dropped
losses >dropped.losses
train 9 --dropout 0.1 --checkpoint_dir dropped --export exported
losses >>dropped.losses
train 9 --dropout 0.1 --checkpoint_dir whole
losses >whole.losses
ok "with dropout the losses are others" not cmp -s whole.losses plain.losses
ok "... and fall" sh -c 'set -- $(cat whole.losses) &&
    awk -v first="$1" -v last="$9" "BEGIN { exit !(last < 0.9 * first) }"'
is "stopped and continued: the same losses" "$(cat dropped.losses)" "$(cat whole.losses)"
ok "... the same bytes" cmp dropped/global_step9/shard-00000 whole/global_step9/shard-00000
ok "what is exported tells its dropout" grep -q '"resid_pdrop": 0.1' exported/config.json
train 1 --model exported
losses >asked
train 1 --model exported --dropout 0
losses >off
ok "config.json asks for dropout, and --dropout 0 switches it off" not cmp -s asked off
sed -i 's/_pdrop": 0.1/_pdrop": 0.0/' exported/config.json
train 1 --model exported
is "... it is the same as not to ask" "$(losses)" "$(cat off)"
train 1 --dropout 1
is "a rate of 1: 2" "$rc" 2
ok "... is refused by name" grep -q -e \
    "--dropout: '1' is not a number of at least 0 and less than 1" err
# Four ranks in two passes drop what one drops.
sed 's/"steps_per_print"/"gradient_accumulation_steps": 2, &/; s/: 6,/: 8,/' ds.json >ds8.json
# shellcheck disable=SC2086
four() {
    "$@" muster-train --deepspeed_config "$PWD/ds8.json" --model hello --vocabulary 257 \
        --positions 18 --width 32 --heads 2 --blocks 2 --length 16 --data "$PWD/text" --steps 4 \
        --device cpu --timeout 60 --dropout 0.2
    losses
}
four run >one
four run muster --label none -H node1:2,node2:2 >many
ok "one rank and four: the same losses" sh -c 'paste one many | awk "
    { d = \$1 - \$2; if (d > 1e-5 || d < -1e-5) bad = 1 } END { exit bad || NR != 4 }"'
finish
