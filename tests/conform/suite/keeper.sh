#!/bin/sh
# keeper.sh COMMAND ARG...: runs a daemon for as long as standard input stays open.
# Whoever starts it holds the other end of that pipe and may end in any way, by SIGKILL too: then the
# daemon gets SIGTERM, and SIGKILL if it has not ended 20 seconds later. The exit code is the daemon's.
exec 3<&0
"$@" </dev/null 3<&- &
daemon=$!
{
    read -r _ <&3
    kill -TERM $daemon
    n=0
    while [ $n -lt 200 ]; do
        sleep 0.1
        n=$((n + 1))
    done
    kill -KILL $daemon
} >/dev/null 2>&1 &
keeper=$!
exec 3<&-
wait $daemon
code=$?
kill $keeper 2>/dev/null
exit $code
