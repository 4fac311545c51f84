# time.sh - claims about time, and options whose time may not run out, on a machine that may be busy
#
# How long something took is a claim of the wide tier alone (timed; tests/tiers.am): in the gate a
# script claims what happened, in which order, and by whose doing. wait_for's deadline is no claim.
#
# A limit is meant for a quiet machine, and holds there as it stands. If it is passed, the claim asks
# how slow this machine is (slowness), and allows that many times as long. Slowness is the largest of:
#
#     how long a hundred fork and exec took when the script began, compared with a quiet machine
#     how many programs have wanted each CPU, in the last minute and now
#     since the script began, what CPUs were wanted for, and what of it other virtual machines left
#
# and three times that if muster was built with sanitizers; never less than 1, nor more than 10.
# SPDX-License-Identifier: Apache-2.0

# Milliseconds on a clock that nobody sets.
now_ms() {
    read -r uptime_s _ </proc/uptime
    echo "${uptime_s%.*}${uptime_s#*.}0"
}

# now_ms_in NAME: the same in that variable, without a fork.
now_ms_in() {
    read -r uptime_s _ </proc/uptime
    eval "$1=${uptime_s%.*}${uptime_s#*.}0"
}

# slowness: let $slowness_percent be at least what this machine is now. The most that a script has
# seen counts for the rest of it.
slowness() {
    read -r slow_load _ _ slow_running _ </proc/loadavg
    slower_than $((${slow_load%.*} * 100 + 1${slow_load#*.} - 100))
    slower_than $((${slow_running%/*} * 100 - 100)) # without this shell
    cpu_times
    slow_busy=$((cpu_busy - slow_busy_before))
    [ "$slow_busy" -lt 100 ] || # a second: less says nothing
        slower_than $((slowness_cpus * 100 * (slow_busy + cpu_stolen - slow_stolen_before) / slow_busy))
}

# All CPUs' hundredths of a second: $cpu_busy, and $cpu_stolen while another machine had them.
cpu_times() {
    read -r _ cpu_user cpu_nice cpu_system _ _ cpu_irq cpu_soft cpu_stolen _ </proc/stat
    cpu_busy=$((cpu_user + cpu_nice + cpu_system + cpu_irq + cpu_soft))
}

# slower_than PERCENT: of one CPU.
slower_than() {
    slow_now=$(($1 / slowness_cpus * slowness_build))
    [ "$slow_now" -le 1000 ] || slow_now=1000
    [ "$slow_now" -le "$slowness_percent" ] || slowness_percent=$slow_now
}

# is_in_time LIMIT_MS TOOK_MS: on a machine like this one now.
is_in_time() {
    [ "$2" -gt "$1" ] || return 0
    slowness
    [ "$2" -le $(($1 * slowness_percent / 100)) ]
}

# timed WHAT COMMAND...: a claim about how long something took, in the wide tier.
timed() {
    if [ "${MUSTER_TEST_WIDE:-}" = yes ]; then
        ok "$@"
    else
        echo "# claimed with MUSTER_TEST_WIDE=yes alone: $1"
    fi
}

# took_at_most WHAT SECONDS TOOK_MS: such a claim.
took_at_most() {
    timed "$1" is_in_time "$(in_ms "$2")" "$3" ||
        echo "# it took $3 ms, and this machine is $slowness_percent % as slow as a quiet one"
}

# stretched SECONDS: so much longer as this machine is slow now. For an option that limits what a
# claim does not want to happen.
stretched() {
    slowness
    echo "$1 $slowness_percent" | awk '{ print $1 * $2 / 100 }'
}

# in_ms SECONDS: with three digits behind the point at most.
in_ms() {
    case $1 in
    *.*) fraction=${1#*.}000 && echo $((${1%.*} * 1000 + 1${fraction%"${fraction#???}"} - 1000)) ;;
    *) echo $(($1 * 1000)) ;;
    esac
}

# What a hundred take on a quiet machine is 100 ms; here ten of them.
slowness_begin() {
    slowness_cpus=1
    slowness_build=1
    slowness_percent=100
    ! grep -q __asan_init "$top_builddir/launcher/muster" 2>/dev/null || slowness_build=3
    slow_began=$(date +%s%N)
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        /bin/true
    done
    slower_than $((($(date +%s%N) - slow_began) / 100000))
    slower_than 100
    slowness_cpus=$(getconf _NPROCESSORS_ONLN)
    cpu_times
    slow_busy_before=$cpu_busy
    slow_stolen_before=$cpu_stolen
}

slowness_begin
