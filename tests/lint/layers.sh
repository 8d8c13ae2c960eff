#!/bin/bash
# layers.sh: who may include whom (design: proto <- manifest <- {lsm, catalog} <- server), who owns a
# third-party header, and that private headers (_int.h) stay in their folder. Prints what is wrong.
set -euo pipefail
cd "$(dirname "$0")/../.."
bad=0
say() {
    echo "$1"
    bad=1
}
declare -A below=([proto]="proto" [manifest]="manifest proto" [lsm]="lsm manifest proto"
    [catalog]="catalog manifest proto" [server]="server catalog lsm manifest proto")
declare -A owner=([microhttpd.h]="server/http.c" [sqlite3.h]="catalog/store/store_sqlite_int.h"
    [cJSON.h]="proto/json/json.c" [zstd.h]="manifest/avro/codec.c"
    [zlib.h]="manifest/avro/codec.c" [bzlib.h]="manifest/avro/codec.c" [lzma.h]="manifest/avro/codec.c"
    [liburing.h]="lsm/uring.c"
    [xxhash.h]="proto/base/hash.c" [curl.h]="server/client.c" [roaring.h]="manifest/dv.c")
for layer in proto manifest lsm catalog server; do
    [ -d "$layer" ] || continue
    while IFS=: read -r file _ line; do
        inc=$(sed -E 's/.*#include "([^"]+)".*/\1/' <<<"$line")
        top=${inc%%/*}
        case "$inc" in
        */*) ;;
        *) say "$file: include \"$inc\" is not rooted" && continue ;;
        esac
        case " ${below[$layer]} " in *" $top "*) ;; *) say "$file: $layer may not include $inc" ;; esac
        case "$inc" in *_int.h)
            [ "$(dirname "$inc")" = "$(dirname "$file")" ] || say "$file: $inc is private to its folder"
            ;;
        esac
    done < <(grep -rnE '^#include "' "$layer" --include='*.c' --include='*.h' --include='*.cc' || true)
done
for h in "${!owner[@]}"; do
    while IFS=: read -r file _; do
        case "$file" in tests/*) continue ;; esac
        [ "$file" = "${owner[$h]}" ] || say "$file: only ${owner[$h]} includes $h"
    done < <(grep -rnE "^#include <([a-z]+/)?$h>" proto manifest catalog server lsm 2>/dev/null || true)
done
exit $bad
