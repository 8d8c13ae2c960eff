#!/bin/bash
# run.sh SECONDS TARGET:LAYER…: each libFuzzer target for so long, linked with that layer and what is
# below; new inputs go to build/fuzz/<target>.corpus.
# A finding ends the run with its input named; copy it to tests/fuzz/corpus/<target> once it is fixed.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=$1
shift
mkdir -p build/fuzz
for target in "$@"; do
    t=${target%:*}
    out=build/fuzz/$t
    mkdir -p "$out.found" "$out.corpus"
    more=()
    if [ "${target#*:}" = catalog ]; then
        clang -I. -c -o build/fuzz/migrations.o catalog/store/migrations.S
        more=(catalog/*.c catalog/*/*.c proto/api/*.c build/fuzz/migrations.o -lsqlite3)
    fi
    clang -std=gnu17 -g -O1 -I. -D_GNU_SOURCE -DLATCH_DEBUG -include proto/base/banned.h -pthread -fsanitize=fuzzer,address,undefined \
        -fno-sanitize-recover=undefined -o "$out" "tests/fuzz/fuzz_$t.c" manifest/*.c manifest/*/*.c \
        proto/base/*.c proto/json/*.c "${more[@]}" -lxxhash -lnettle -lzstd -lz -lbz2 -llzma -lroaring
    echo "fuzz $t for $seconds s"
    "$out" -max_total_time="$seconds" -timeout=5 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$out.found/" "$out.corpus" "tests/fuzz/corpus/$t" 2>&1 |
        grep -E "stat::number_of_executed_units|ERROR|SUMMARY|Test unit written|DONE|cov:" | tail -5
done
