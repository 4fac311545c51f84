#!/bin/sh
# muster run --fold: a line that many ranks write at about the same time is shown once, with all of
# them; other lines are as without it.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/complaints.sh"

four="-H node1:2,node2:2"
# all_here: waits for the other ranks, so that they speak at about the same time.
script_file all_here <<'END'
#!/bin/sh
: >"here.$RANK"
until [ "$(ls here.* | wc -l)" = "$WORLD_SIZE" ]; do sleep 0.01; done
END

# shares ARGUMENTS...: do ranks share a line? A machine may be too busy for that, but not always.
shares() {
    rm -f here.*
    run muster "$@" -H node1:2,node2:2 sh -c './all_here
for i in 1 2 3; do echo step $i; [ $RANK != 2 ] || echo own $i; sleep 0.5; done'
    [ "$rc" = 0 ] && grep -q "^\\[.*[,-].*\\] step" out
}

# said LINE: how many ranks have written the line, by the labels in out. ranks_of LINE: which.
ranks_of() {
    python3 - "$1" <<'END'
import re, sys
for line in open('out', encoding='utf-8'):
    match = re.match(r'(?:\[(?:\w+ )?([0-9,-]+)\]|(?:\w+ )?node[12]:(\d+):) (.*)\n', line)
    if match and re.fullmatch(sys.argv[1], match[3]):
        for part in (match[1] or match[2]).split(','):
            first, _, last = part.partition('-')
            for rank in range(int(first), int(last or first) + 1):
                print(rank, match[3])
END
}
said() {
    ranks_of "$1" | wc -l
}

# shellcheck disable=SC2086,SC2016
{
ok "what several ranks say is one line" wait_for 60 shares --fold
is "nothing is lost" "$(said 'step 1') $(said 'step 2') $(said 'step 3')" "4 4 4"
is "what one says has its own label" "$(grep -c '^node2:2: own [123]$' out)" 3
is "each rank keeps its order" "$(ranks_of '(step|own) .' | sed -n 's/^2 //p' | tr '\n' ' ')" \
    "step 1 own 1 step 2 own 2 step 3 own 3 "

run muster --fold $four sh -c 'echo first; printf "1%%\r"; printf "2%%\r"; echo "last $RANK"; echo err >&2; printf end'
is "bars and ends are left as they are" "$(tr '\r' '\n' <out | grep -Ec '^node[12]:[0-3]: (1%|2%|end)$')" 12
is "... and lines are there" "$(said first) $(said 'last .')" "4 4"
ok "stderr is apart" grep -q ' err$' err
ok "... and nothing of it is on stdout" not grep -q err out

for kind in none host rank; do
    run muster --fold --label $kind $four sh -c 'echo x'
    case $kind in
    none) ok "--label none" not grep -qv '^x$' out ;;
    host) ok "--label host: the hosts" not grep -qEv '^node(1|2|\[1-2\]): x$' out ;;
    rank) ok "--label rank" not grep -qEv '^\[[0-9,-]*\] x$' out ;;
    esac
done
run muster --fold --show-ranks 1-2 $four sh -c 'echo x'
is "--show-ranks: only these" "$(ranks_of x | sort | tr '\n' ' ')" "1 x 2 x "
run muster --fold --timestamps $four sh -c 'echo x'
ok "--timestamps, behind the label" not grep -Eqv '^(\[[0-9,-]*\]|node[12]:[0-3]:) [0-9:.]{12} x$' out

run muster --fold $four --role a:2 sh -c 'echo x' : --role b:2 sh -c 'echo x'
is "roles are apart, by their own numbers" \
    "$(said x) $(grep -Ecv '^(\[[ab] (0|1|0-1)\]|[ab] node[12]:[01]:) x$' out)" "4 0"

# A flood of the same and of other lines: all is there, in order.
run muster --fold $four sh -c 'seq 20000; seq -f "own $RANK %.0f" 5000'
is "a flood: 0" "$rc" 0
is "... each line of each rank is there" "$(for rank in 0 1 2 3; do
    ranks_of "own $rank .*" | cut -d ' ' -f 4 | cksum
done | sort -u)" "$(seq 5000 | cksum)"
is "... in order, also what they share" "$(ranks_of '[0-9]*' >shared
for rank in 0 1 2 3; do
    sed -n "s/^$rank //p" shared | cksum
done | sort -u)" "$(seq 20000 | cksum)"

mkdir -p "$HOME/.config/muster"
printf '[muster]\nfold = yes\n' >"$HOME/.config/muster/muster.conf"
ok "muster.conf may say so" wait_for 60 shares --label rank
ok "nothing is left" no_leftovers
}
finish
