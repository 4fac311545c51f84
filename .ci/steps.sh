# steps.sh - what .ci/run and .ci/wide share: steps, builds, and what came of all tests
# SPDX-License-Identifier: Apache-2.0

cd "$(dirname "$0")/.."
top=$PWD
notes=$(mktemp -d)
trap 'rm -rf "$notes"' EXIT
export DEBIAN_FRONTEND=noninteractive
# install_packages and quickstart install these: a test that does not find one of them fails.
export MUSTER_TEST_REQUIRE="sshd mpich open_mpi torch trainer pty valgrind promtool chromium
    journal_remote"
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
            valgrind xz-utils ca-certificates debootstrap util-linux iproute2 curl chromium \
            chromium-driver >/dev/null &&
        install_journal_remote && install_promtool
}

# What writes the journals that tests read. It needs the systemd of its version; the one that is here
# stays if the archive has that version.
install_journal_remote() {
    version=$(dpkg-query -W -f '${Version}' systemd 2>/dev/null || :)
    for pin in ${version:+=$version} ""; do
        ! apt-get install -y -qq --no-install-recommends "systemd$pin" \
            "systemd-journal-remote$pin" >/dev/null || return 0
    done
    return 1
}

# Of the package prometheus only promtool: installed, it would start a server.
install_promtool() {
    command -v promtool >/dev/null ||
        (cd "$notes" && apt-get download -qq prometheus >/dev/null && dpkg-deb -x prometheus_*.deb prometheus &&
            install -m 755 prometheus/usr/bin/promtool /usr/local/bin/promtool &&
            rm -rf prometheus prometheus_*.deb)
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

# have_cluster SECONDS: build it within that time, if it is not there. Without one, say so.
have_cluster() {
    [ -x "$MUSTER_TEST_KUBE" ] || {
        echo "SKIPPED: $MUSTER_TEST_KUBE is not there, and nothing else starts a cluster"
        return 1
    }
    timeout -k 10 "$1" "$MUSTER_TEST_KUBE" build >"$notes/kube" 2>&1 || {
        tail -n 5 "$notes/kube"
        echo "SKIPPED: no cluster could be built in $1 s"
        return 1
    }
}

run_cluster_tests() {
    make -C build/tests check TESTS="$(tests/suite/tier "$@" | tr '\n' ' ')"
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
