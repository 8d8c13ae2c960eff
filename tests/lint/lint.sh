#!/bin/bash
# lint.sh: all static checks; each prints what is wrong and its seconds. Ends with one line
# "lint: N checks passed, N failed".
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
passed=0
failed=0
check() {
    local name=$1 t0=$SECONDS
    shift
    if out=$("$@" 2>&1); then
        passed=$((passed + 1))
        printf 'lint/%-18s ok     %4d s\n' "$name" $((SECONDS - t0))
    else
        failed=$((failed + 1))
        printf 'lint/%-18s FAILED %4d s\n%s\n' "$name" $((SECONDS - t0)) "$(tail -60 <<<"$out")"
    fi
}
mapfile -t c_files < <(git ls-files -co --exclude-standard '*.c' '*.h')
mapfile -t c_only < <(git ls-files -co --exclude-standard '*.c' | grep -v '^tests/')
mapfile -t sh_files < <(git ls-files -co --exclude-standard '*.sh' .ci/run)
format() { clang-format --dry-run -Werror "${c_files[@]}"; }
tidy() {
    printf '%s\n' "${c_only[@]}" | xargs -P 2 -n 1 sh -c '
        clang-tidy --quiet "$@" -- -std=gnu17 -I. -D_GNU_SOURCE -DLATCH_VERSION=\"lint\" -DLATCH_COMMIT=\"lint\" -include proto/base/banned.h' lint 2>/dev/null
}
check_cppcheck() {
    cppcheck -q -j 2 --std=c11 --error-exitcode=1 --inline-suppr --suppress=missingIncludeSystem \
        --enable=warning,performance,portability -I. -D_GNU_SOURCE "${c_only[@]}"
}
no_leaks() { # of where this was made
    ! git grep -nIE '(/work/|deb\.debian\.org|pypi\.org|files\.pythonhosted|repo1?\.maven|proxy\.golang|crates\.io)' \
        -- . ':!tests/lint/lint.sh'
}
check layers tests/lint/layers.sh
check sizes python3 tests/lint/sizes.py
check format format
check shellcheck shellcheck -x "${sh_files[@]}"
check no-host-names no_leaks
check cppcheck check_cppcheck
check clang-tidy tidy
echo "lint: $passed checks passed, $failed failed"
[ "$failed" -eq 0 ]
