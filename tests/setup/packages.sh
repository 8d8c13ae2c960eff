#!/bin/bash
# packages.sh SET...: installs what is missing of the named sets of Debian packages.
#   build  what `make` needs        test  what `make test` needs besides        lint, bench, cov, fuzz  what those need
# Silent when nothing is missing, and then it needs neither root nor apt: each package is known by one
# file it brings. Works as root without sudo, as anybody else with it, and under an empty environment.
set -euo pipefail
export PATH="${PATH:-/usr/bin:/bin}:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"

# package, and a file or command that is there when it is
BUILD_SET="gcc gcc
g++ g++
make make
pkg-config pkg-config
git git
ca-certificates /etc/ssl/certs/ca-certificates.crt
libmicrohttpd-dev /usr/include/microhttpd.h
libsqlite3-dev /usr/include/sqlite3.h
libxxhash-dev /usr/include/xxhash.h
nettle-dev /usr/include/nettle/sha2.h
libroaring-dev /usr/include/roaring/roaring.h
libzstd-dev /usr/include/zstd.h
zlib1g-dev /usr/include/zlib.h
libbz2-dev /usr/include/bzlib.h
liblzma-dev /usr/include/lzma.h"
TEST_SET="libcmocka-dev /usr/include/cmocka.h
python3 /usr/bin/python3
python3-venv venv
openjdk-17-jdk-headless javac
maven mvn
curl curl"
LINT_SET="clang clang
clang-format clang-format
clang-tidy clang-tidy
cppcheck cppcheck
shellcheck shellcheck"

BENCH_SET="wrk wrk"
COV_SET="gcovr gcovr"
FUZZ_SET="clang clang
libclang-rt-dev fuzzer"

die() {
    echo "packages.sh: $*" >&2
    exit 1
}

present() { # probe
    case $1 in
        fuzzer) compgen -G '/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a' >/dev/null ;;
        venv) /usr/bin/python3 -c 'import ensurepip, venv' 2>/dev/null ;;
        /*) [ -e "$1" ] ;;
        *) command -v "$1" >/dev/null ;;
    esac
}

missing() { # set name -> packages on stdout
    local list package probe
    case $1 in
        build) list=$BUILD_SET ;;
        test) list=$TEST_SET ;;
        lint) list=$LINT_SET ;;
        bench) list=$BENCH_SET ;;
        cov) list=$COV_SET ;;
        fuzz) list=$FUZZ_SET ;;
        *) die "unknown set '$1': use build, test or lint" ;;
    esac
    while read -r package probe; do
        present "$probe" || echo "$package"
    done <<<"$list"
}

missing_of_all() {
    local set_name
    for set_name in "$@"; do
        missing "$set_name"
    done
}

[ $# -gt 0 ] || die "usage: packages.sh build|test|lint|bench|cov|fuzz ..."
needed=$(missing_of_all "$@")
[ -n "$needed" ] || exit 0
needed=${needed//$'\n'/ }

command -v apt-get >/dev/null ||
    die "missing: $needed. There is no apt-get here: install what your system calls these, then try again"
as_root=()
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null ||
        die "missing: $needed. Run 'apt-get install $needed' as root (you are not root and there is no sudo)"
    as_root=(sudo)
fi
as_root+=(env DEBIAN_FRONTEND=noninteractive)
apt_options=(-qq -o "DPkg::Lock::Timeout=300" -o "Acquire::Retries=3" -o "Dpkg::Use-Pty=0")

log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "packages.sh: installing $needed"
read -ra names <<<"$needed"
if ! "${as_root[@]}" apt-get "${apt_options[@]}" update >"$log" 2>&1 ||
    ! "${as_root[@]}" apt-get "${apt_options[@]}" install -y --no-install-recommends "${names[@]}" >>"$log" 2>&1; then
    cat "$log" >&2
    die "apt-get failed, its output is above. Wanted: $needed"
fi
hash -r
still=$(missing_of_all "$@")
[ -z "$still" ] || die "apt-get succeeded but these are still not found: ${still//$'\n'/ }"
