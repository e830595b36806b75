#!/bin/sh
# Makes ./configure from configure.ac; needed once in a checkout, never in a release tarball.
set -e
cd "$(dirname "$0")"
mkdir -p build-aux m4
exec autoreconf --install --force --warnings=all,no-obsolete
