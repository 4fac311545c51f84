# steps.sh - what .ci/run and .ci/wide share: steps, builds, and what came of all tests
# SPDX-License-Identifier: Apache-2.0

cd "$(dirname "$0")/.."
top=$PWD
began_s=$(date +%s)
notes=$(mktemp -d)
archive=$top/build-archive # a source tree without git; other users can read it
trap 'rm -rf "$notes"' EXIT
export DEBIAN_FRONTEND=noninteractive
# What was installed for the tests has to be tested: a skip for its absence is a failure.
export MUSTER_TEST_REQUIRE="sshd mpich torch trainer pty valgrind"
# A script that builds a cluster, once a machine, and starts it.
export MUSTER_TEST_KUBE="$top/../shared/kube"
# What configure and make are run by: dash, which needs half of bash's time.
export CONFIG_SHELL=/bin/sh
# Each configure takes its defaults from there.
export CONFIG_SITE=$notes/config.site
echo enable_werror=yes >"$CONFIG_SITE"

# step NAME COMMAND...: with its time; a step that fails fails the whole, at the end.
step() {
    name=$1 passed=passed
    shift
    echo "==== $name"
    begun=$(date +%s)
    if "$@"; then
        echo "==== $name: $passed, $(($(date +%s) - begun)) s"
    else
        echo "==== $name: FAILED, $(($(date +%s) - begun)) s"
        echo "[$name]" >>"$notes/failed"
    fi
}

install_packages() {
    apt-get update -qq &&
        apt-get install -y -qq --no-install-recommends clang clang-tidy cppcheck libomp-dev llvm \
            valgrind xz-utils ca-certificates debootstrap util-linux iproute2 >/dev/null
}

# make_check BUILD COMMAND...: tests that fail are for check_again to judge.
make_check() {
    checked_build=$1
    shift
    "$@" || {
        echo "$checked_build" >>"$notes/again"
        passed="some tests failed, and are run once more at the end"
    }
}

# Each test that failed once more, alone: red if it fails again, or if there are too many.
check_again() {
    [ -e "$notes/again" ] || return 0
    for again_build in $(sort -u "$notes/again"); do
        tests/suite/again "$again_build" || echo "failed twice" >>"$notes/twice"
    done >"$notes/unsteady" 2>&1
    cat "$notes/unsteady"
    unsteady=$(grep -c '^unsteady: ' "$notes/unsteady" || :)
    [ "$unsteady" -le "$unsteady_most" ] || echo "$unsteady unsteady tests are more than $unsteady_most"
    [ ! -e "$notes/twice" ] && [ "$unsteady" -le "$unsteady_most" ]
}

# build_sanitized TREE: by clang, with all test programs, where the fuzz targets look for it.
build_sanitized() {
    mkdir -p "$1/build-clang" &&
        (cd "$1/build-clang" && ../configure --quiet CC=clang CXX=clang++ \
            CFLAGS="-gline-tables-only -O1" \
            CXXFLAGS="-gline-tables-only -O1 -fno-sanitize=function,vptr" \
            --without-cuda --enable-sanitize --enable-fuzz) &&
        make -s -C "$1/build-clang" -j "$(nproc)" &&
        make -s -C "$1/build-clang" -j "$(nproc)" check TESTS=
}

# have_cluster SECONDS: within that many since $began_s. Without one, says so.
have_cluster() {
    [ -x "$MUSTER_TEST_KUBE" ] || {
        echo "SKIPPED: $MUSTER_TEST_KUBE is not there, and nothing else starts a cluster"
        return 1
    }
    left_s=$((began_s + $1 - $(date +%s)))
    [ "$left_s" -gt 0 ] && timeout -k 10 "$left_s" "$MUSTER_TEST_KUBE" build >"$notes/kube" 2>&1 || {
        tail -n 5 "$notes/kube" 2>/dev/null || :
        echo "SKIPPED: no cluster could be built in $left_s s"
        return 1
    }
}

run_cluster_tests() {
    make -C build/tests check TESTS="$(tests/suite/tier "$@" | tr '\n' ' ')"
}

tell_slowest() {
    echo "==== what took longest"
    tests/suite/slowest 15 build "$archive/build-clang"
}

# summary BUILD...: every TAP result of every `make check` there, from what automake keeps of them.
summary() {
    results=$(find "$@" -name '*.trs' -exec cat {} + |
        sed -n 's/^:test-result: \([A-Z]*\).*/\1/p')
    passed_count=$(echo "$results" | grep -cE '^(PASS|XFAIL)$' || :)
    failed_count=$(echo "$results" | grep -cE '^(FAIL|XPASS|ERROR)$' || :)
    skipped_count=$(echo "$results" | grep -c '^SKIP$' || :)
    # Of a long output often only the end is kept.
    [ ! -e "$notes/unsteady" ] || tail -n 150 "$notes/unsteady"
    [ ! -e "$notes/failed" ] || echo "failed:" $(cat "$notes/failed")
    echo "$passed_count passed, $failed_count failed, $skipped_count skipped"
    [ ! -e "$notes/failed" ] && [ "$failed_count" = 0 ] && [ "$passed_count" -gt 0 ]
}
