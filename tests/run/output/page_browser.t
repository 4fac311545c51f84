#!/bin/sh
# The page of a run in headless Chromium: by keyboard alone, dark and light, live, and when the run is
# over. Called with the name of a file, $PWD/doc/page.png, it makes the picture of README there.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/output/metrics.sh"

need_chromium() {
    command -v chromium >/dev/null && command -v chromedriver >/dev/null ||
        { echo "a browser is missing (Debian: chromium, chromium-driver)"; return 1; }
}

unset MUSTER_HOSTFILE MUSTER_SSH_CONFIG
need chromium
command -v curl >/dev/null || skip_all "curl is missing"
export MUSTER_TRANSPORT=exec

browse() {
    "$here/output/page_browser.py" "$@" 2>&1
}

# is_line N FILE WANTED WHAT
is_line() {
    is "$4" "$(sed -n "$1p" "$2")" "$3"
}

page_of() {
    sed -n 's/.*a page of the run at //p' err
}

# Expressions for the browser.
cell() {
    echo "document.querySelectorAll('button.cell')[$1]"
}
text() {
    echo "document.getElementById('$1').textContent"
}
figures="document.getElementById('figures').textContent"
focus="document.activeElement.getAttribute('aria-label')"
# The contrast of an element's words with the page or card below them, as WCAG computes it.
contrast() {
    echo "((e) => { const light = (c) => { const [r, g, b] = c.match(/[0-9.]+/g).map((v) => { v /= 255;
        return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
        const below = (e) => { const c = getComputedStyle(e).backgroundColor;
            return c === 'rgba(0, 0, 0, 0)' ? below(e.parentElement) : c; };
        const [a, b] = [light(getComputedStyle(e).color), light(below(e))].sort(); return (b + 0.05) / (a + 0.05) >= 4.5; })($1)"
}
legible="[...document.querySelectorAll('h1, h2, p, dt, dd, small, .cell, .state, .link, .host, li, td, th, time')]
    .filter((e) => e.textContent && e.offsetParent && !$(contrast e)).map((e) => e.className + ' ' + e.textContent).join()"

ranks=64
[ "${MUSTER_TEST_WIDE:-}" != yes ] || ranks=512
script_file rank <<'END_OF_RANK'
#!/bin/sh
[ "$RANK" = 1 ] && echo '<script>document.title="pwned"</script><img src=x onerror="document.title=1">'
[ "$RANK" -lt 6 ] || { until [ -e end ]; do sleep 1; done; exit 0; }
[ "$RANK" = 2 ] && behind=5 || behind=0
for step in 10 20 30; do
    echo "iter $((step - behind)): loss 2.$step"
    until [ -e "step.$step" ] || [ -e end ]; do sleep 0.05; done
done
until [ -e end ]; do sleep 0.1; done
END_OF_RANK
start muster -H "node1:$((ranks / 2)),node2:$((ranks / 2))" --name looked --heartbeat 0.2 \
    --dead-after "$(stretched 15)" --metrics-listen 0 ./rank
ok "$ranks ranks" wait_for 120 scraped 'muster_ranks{state="running"}' $ranks
ok "... and their steps" wait_for 60 scraped muster_step_lowest 5

browse "$(page_of)" size=1000x640 light get "wait=$(text link) === 'live'" "wait=$(cell 2)" \
    "js=document.querySelectorAll('button.cell').length" "js=$(text name)" "js=$(text state)" \
    "wait=$(cell 2).title.includes('behind')" "js=$(cell 2).title" "js=$(cell 2).textContent" \
    "js=$(cell 2).getAttribute('aria-label') === $(cell 2).title" \
    key=Tab key=ArrowRight "js=$focus.split(':')[0]" key=Enter "wait=$(text lines).includes('script')" \
    "js=$(text lines).split('\\n')[0]" "js=document.title" "js=document.querySelectorAll('#rank script, #rank img').length" \
    key=Escape "js=$focus.split(':')[0]" "js=document.getElementById('rank').hidden" \
    key=ArrowDown "js=$focus.split(':')[0]" key=Home key=ArrowUp "js=$focus.split(':')[0]" \
    touch=step.10 "wait=$figures.includes('20')" "wait=!document.getElementById('loss').hidden" \
    touch=step.20 "wait=$figures.includes('30') && $figures.includes('2.3')" \
    "js=[$(cell 0), $(cell 2), document.body].map((e) => getComputedStyle(e).backgroundColor).join('; ')" "js='|' + $legible" dark \
    "js='|' + $legible" "js=getComputedStyle(document.body).backgroundColor" light \
    size=360x740 "js=document.documentElement.scrollWidth" size=1000x640 shot=live.png \
    log touch=end "wait=$(text state) === 'ended well'" "js=$(text link).split(',')[0]" \
    "wait=$(text legend).includes('done')" "js=$(text legend)" log >found
sed 's/^/# /' found
is_line 1 found $ranks "the page shows each rank"
is_line 2 found looked "... the name of the run"
is_line 3 found running "... its state"
is_line 4 found "rank 2 on node1: running, 5 steps behind" "... who is behind"
is_line 5 found 5 "... not by its colour alone"
is_line 6 found True "... and for those who hear it"
is_line 7 found "rank 1 on node1" "by keyboard: an arrow moves"
is_line 8 found '<script>document.title="pwned"</script><img src=x onerror="document.title=1">' \
    "... Enter shows the last lines, as text"
# The dash is that of the title.
is_line 9 found "running $(printf '\342\200\223') looked" "... which do nothing"
is_line 10 found 0 "... and are no elements"
is_line 11 found "rank 1 on node1" "... Escape returns to the rank"
is_line 12 found True "... and closes them"
is_line 13 found "rank $((ranks / 2 + 1)) on node2" "... down is the next node"
is_line 14 found "rank 0 on node1" "... Home and up"
ok "what is new comes, without a reload" not grep -q never found
is "a rank that is behind has another colour" "$(sed -n 15p found | cut -d';' -f1-2 | tr ';' '\n' | sort -u | wc -l)" 2
is_line 16 found "|" "light: all is legible"
is_line 17 found "|" "dark: all is legible"
ok "... and is dark" test "$(sed -n 18p found)" != "$(sed -n '15s/.*; //p' found)"
is_line 19 found 360 "a narrow window needs no scrolling to the side"
is_line 20 found "" "the browser complains of nothing"
is_line 21 found "the run has ended" "the page says when the run has ended"
is_line 22 found "$(printf '\342\234\223')${ranks}done" "... and how the ranks have"
is_line 23 found "" "... and complains of nothing"
ok "a picture of it" test "$(head -c 4 live.png | tail -c 3)" = PNG
finish_run 60

# --- a launcher that is gone

start muster -H node1:2 --heartbeat 0.2 --dead-after "$(stretched 3)" --metrics-listen 0 sleep 1000
ok "another run" wait_for 30 has_address
launcher=$pid
(wait_for 60 test -e kill; kill -KILL "$launcher") &
browse "$(page_of)" get "wait=$(text link) === 'live'" touch=kill \
    "wait=/^no connection since [0-9:]+$/.test($(text link))" "js=document.querySelectorAll('button.cell').length" >found
wait
is "the page says since when it has no connection, and stays" "$(cat found)" 2
ok "nothing is left of that run" wait_for 60 nothing_left

# --- a file

muster status --html=run.html looked
browse "file://$PWD/run.html" get "js=$(text state)" "js=document.querySelectorAll('button.cell').length" \
    "js=$figures.includes('30')" "js=$(text link).slice(0, 9)" "click=button.cell" "js=$(text lines)" log >found
is "muster status --html shows the same of a run that is over" "$(tr '\n' '|' <found)" \
    "ended well|$ranks|True|as it was|Its lines are not in this file.||"

# --- the picture of README

if [ -n "${1:-}" ]; then
    script_file train <<'END_OF_RANK'
#!/bin/sh
step=0
until [ -e stop ]; do
    step=$((step + 1))
    awk -v s=$step -v r="$RANK" 'BEGIN { srand(s); printf "iter %d: loss %.4f\n", s, 2.2 + 6 / (s / 2 + 1) + rand() / 8 }'
    [ "$RANK.$step.$MUSTER_GENERATION" != 21.18.0 ] || { echo "RuntimeError: CUDA error: uncorrectable ECC error"; exit 1; }
    case $RANK in 37) sleep 0.64 ;; 12 | 50) sleep 0.61 ;; *) sleep 0.6 ;; esac
done
END_OF_RANK
    start muster -H te1:8,te2:8,te3:8,te4:8,te5:8,te6:8,te7:8,te8:8 --name gpt2-medium --max-restarts 3 --restart-delay 0 \
        --heartbeat 0.5 --dead-after 60 --metrics-listen 0 ./train
    ok "a run for the picture" wait_for 120 scraped muster_generation 1
    sleep 40
    browse "$(page_of)" size=1000x640 light get "wait=$(text link) === 'live'" "wait=$(cell 60)" "shot=$1"
    : >stop
    finish_run 60
fi
ok "nothing is left" no_leftovers
finish
