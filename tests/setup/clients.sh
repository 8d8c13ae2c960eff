#!/bin/bash
# clients.sh [CLIENT]: fetches the stock Paimon clients that the conformance suites drive, or one of them:
# python, rust, java, java131, flink, suite.
#   build/deps/venv               pypaimon 2.1.0 and all it needs, by requirements.txt; beside it
#                                 pypaimon-rust 0.4.0, by requirements-rust.txt
#   build/deps/java/*.jar         the Java client 1.4.2, by pom.xml
#   build/deps/java131/*.jar      the Java client 1.3.1, by pom-java131.xml
#   build/deps/flink/*.jar        Flink 1.20 with the connector 1.3.1, by pom-flink.xml
#   build/deps/paimon-suite/*.jar Paimon's own tests of a REST catalog, by pom-suite.xml
# A stamp beside each holds the checksum of its list: a second run does nothing. A half made folder has
# no stamp and is made anew. Packages come through pip and Maven as this machine has them set up.
set -euo pipefail
export PATH="${PATH:-/usr/bin:/bin}:/usr/local/bin:/usr/bin:/bin"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
deps=$(cd "$here/../.." && pwd)/build/deps

die() {
    echo "clients.sh: $*" >&2
    exit 1
}

fresh() { # stamp, wanted content
    [ "$(cat "$1" 2>/dev/null)" = "$2" ]
}

quietly() { # command...: its output only when it fails; a second try, as networks hiccup
    local log
    log=$(mktemp)
    if ! "$@" >"$log" 2>&1 && ! { sleep 5 && "$@" >"$log" 2>&1; }; then
        cat "$log" >&2
        rm -f "$log"
        die "failed twice, the output of the second try is above: $*"
    fi
    rm -f "$log"
}

python_client() {
    local python=/usr/bin/python3 wanted old pins=$here/requirements.txt
    # The system's own python first: another one on PATH may come and go, or lack the venv module.
    [ -x "$python" ] || python=$(command -v python3) || die "no python3: run tests/setup/packages.sh test"
    wanted="$(sha256sum <"$pins") $("$python" -V)"
    ! fresh "$deps/venv.stamp" "$wanted" || [ ! -x "$deps/venv/bin/python" ] || return 0
    echo "clients.sh: installing pypaimon into build/deps/venv"
    rm -rf "$deps/venv" "$deps/venv.stamp"
    "$python" -m venv "$deps/venv" || die "no venv: run tests/setup/packages.sh test"
    old=$("$python" -c 'import sys; print(int(sys.version_info < (3, 11)))')
    # The pins are those of Python 3.11; some of them do not exist for older ones.
    if [ "$old" = 1 ]; then
        quietly "$deps/venv/bin/python" -m pip install -q "$(grep '^pypaimon==' "$pins")"
    else
        quietly "$deps/venv/bin/python" -m pip install -q -r "$pins"
    fi
    quietly "$deps/venv/bin/python" -c 'import pypaimon'
    echo "$wanted" >"$deps/venv.stamp"
}

jars() { # folder under build/deps, pom, a jar that must come of it, what it is
    local wanted
    wanted=$(sha256sum <"$here/$2")
    ! fresh "$deps/$1.stamp" "$wanted" || return 0
    command -v mvn >/dev/null || die "no mvn: run tests/setup/packages.sh test"
    echo "clients.sh: fetching $4 into build/deps/$1"
    rm -rf "${deps:?}/$1" "$deps/$1.stamp"
    quietly mvn -B -q -f "$here/$2" dependency:copy-dependencies "-DoutputDirectory=$deps/$1"
    compgen -G "$deps/$1/$3" >/dev/null || die "Maven made no build/deps/$1/$3"
    echo "$wanted" >"$deps/$1.stamp"
}

java_client() {
    jars java pom.xml 'paimon-bundle-*.jar' "the Java client"
}

paimon_suite() {
    jars paimon-suite pom-suite.xml 'paimon-core-*-tests.jar' "Paimon's own suite"
}

rust_client() {
    local wanted pins=$here/requirements-rust.txt
    python_client
    wanted="$(sha256sum <"$pins") $(cat "$deps/venv.stamp")"
    # A venv made anew lacks it, so the stamp alone does not tell.
    ! fresh "$deps/rust.stamp" "$wanted" ||
        ! compgen -G "$deps/venv/lib/python*/site-packages/pypaimon_rust" >/dev/null || return 0
    echo "clients.sh: installing pypaimon-rust into build/deps/venv"
    # It needs pyarrow and does not say so; the one that requirements.txt pins serves both.
    quietly "$deps/venv/bin/python" -m pip install -q --no-deps -r "$pins"
    quietly "$deps/venv/bin/python" -c 'import pypaimon_rust.datafusion, pypaimon'
    echo "$wanted" >"$deps/rust.stamp"
}

java131_client() {
    jars java131 pom-java131.xml 'paimon-bundle-1.3.1.jar' "the Java client 1.3.1"
}

flink_client() {
    jars flink pom-flink.xml 'paimon-flink-1.20-*.jar' "Flink"
}

mkdir -p "$deps"
exec 9>"$deps/lock" # two runs at once: the second waits, then finds all done
flock 9
case ${1:-all} in
    python) python_client ;;
    java) java_client ;;
    suite) paimon_suite ;;
    all)
        python_client
        java_client
        paimon_suite
        rust_client
        java131_client
        flink_client
        ;;
    rust) rust_client ;;
    java131) java131_client ;;
    flink) flink_client ;;
    *) die "usage: clients.sh [python|rust|java|java131|flink|suite]" ;;
esac
