#!/bin/sh
# Make ./configure out of configure.ac. Needs autoconf, automake, pkg-config.
set -eu
cd "$(dirname "$0")"
mkdir -p m4 build-aux
exec autoreconf --force --install
