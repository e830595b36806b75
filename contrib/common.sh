# shellcheck shell=bash disable=SC2034
# Shared by contrib/demo and contrib/check: what must be installed, and the build. Sourced, not run.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Where the tree itself is configured, no other directory can be any more.
if [ -z "${BUILD-}" ] && [ -e "$top/config.status" ]; then
	build=$top
else
	build=${BUILD:-$top/build}
fi

build_packages=(gcc make autoconf automake pkg-config libfuse3-dev fuse3 libcurl4-openssl-dev libsqlite3-dev
	libssl-dev check libjansson-dev libxxhash-dev libbsd-dev)
demo_packages=(sqlite3 zip unzip curl jq bc)
# The programs that the tests run on a mount, and the second server that they mount from.
test_packages=(nginx-light sqlite3 zip unzip rsync ffmpeg samtools hdf5-tools squashfs-tools genisoimage fuseiso git
	file curl attr jq openssl procps psmisc strace e2fsprogs xfsprogs iproute2 python3 xxd)

say() { printf '%s: %s\n' "${0##*/}" "$*"; }
die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# Run as root: directly, or by sudo for an ordinary user.
as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "needs root to run: $* (no sudo here; run that line as root, then this again)"
	fi
}

# Install what is missing of the packages named, and say what.
install_packages() {
	local missing=() p
	command -v dpkg-query >/dev/null || die "this is not Debian or Ubuntu: install the libraries that ./configure names, then run ./autogen.sh, ./configure and make"
	for p in "$@"; do
		[ "$(dpkg-query -W -f '${db:Status-Abbrev}' "$p" 2>/dev/null)" = "ii " ] || missing+=("$p")
	done
	[ ${#missing[@]} -eq 0 ] && return
	say "installing ${missing[*]}"
	as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq ||
		die "apt-get update failed (is the package mirror reachable?)"
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
		"${missing[@]}" >/dev/null || die "apt-get could not install them (its message is above)"
}

# Configure and build in $build; arguments go to configure when it has not run there yet.
build_tree() {
	[ -x "$top/configure" ] || "$top/autogen.sh" >/dev/null 2>&1 || die "autogen.sh failed: run it by hand to see why"
	mkdir -p "$build"
	if [ ! -f "$build/Makefile" ]; then
		say "configuring in $build"
		(cd "$build" && "$top/configure" -q "$@") || die "configure failed (see above)"
	fi
	say "building"
	make -s -C "$build" -j"$(nproc)" >/dev/null || die "the build failed (see above)"
}

# Can this user mount? Says what to do when not.
can_mount() {
	if [ ! -e /dev/fuse ]; then
		say "no /dev/fuse here: load the module (modprobe fuse) or give the container the device"
		return 1
	fi
	if [ ! -r /dev/fuse ] || [ ! -w /dev/fuse ]; then
		say "$(id -un) may not use /dev/fuse: run 'chmod 666 /dev/fuse' as root"
		return 1
	fi
	return 0
}
