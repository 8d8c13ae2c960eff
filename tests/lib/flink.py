"""Flink SQL with Paimon's stock connector: one JVM and one mini cluster for a whole suite."""

import atexit
import json
import os
import socket
import tempfile

import java

_state = {}


def shared():
    """The one JVM of this process."""
    if "flink" not in _state:
        _state["flink"] = Flink()
        atexit.register(_state["flink"].close)
    return _state["flink"]


def hosts_file():
    """Flink asks for the address of the machine's own name, which a bare machine may not know."""
    f = tempfile.NamedTemporaryFile("w", prefix="latch-hosts-", delete=False)
    with f:
        f.write("127.0.0.1 localhost\n127.0.0.1 %s\n" % socket.gethostname())
    atexit.register(os.unlink, f.name)
    return f.name


class Flink(java.Client):
    def __init__(self):
        super().__init__("FlinkClient", "flink", ("-Xmx1g", "-Djdk.net.hosts.file=" + hosts_file()))

    def open(self, server, token=None, warehouse="default", name="latch", **options):
        """A catalog of that name; statements name it only if it is not the current one."""
        pairs = {"type": "paimon", "metastore": "rest", "uri": server.url, "warehouse": warehouse,
                 "token.provider": "bear", "token": server.token if token is None else token,
                 "cache-enabled": "false", **options}  # each statement sees the server, not a memory
        self("catalog", "CREATE CATALOG `%s` WITH (%s)" % (
            name, ", ".join("'%s'='%s'" % p for p in pairs.items())))
        self("catalog", "USE CATALOG `%s`" % name)
        return self

    def sql(self, text, *values):
        """Runs one statement to its end. Its rows as tuples without their kind, in the order they came."""
        text = " ".join((text % values if values else text).split("\n"))
        return [tuple(r[1:]) for r in json.loads(self("batch", text))["rows"]]

    def rows(self, text, *values):
        """The same, sorted, for queries that promise no order."""
        return sorted(self.sql(text, *values), key=lambda r: [(v is not None, str(type(v)), v) for v in r])

    def next(self, name, count):
        """That many rows of a followed query, with their kinds."""
        return [tuple(r) for r in json.loads(self("next", name, count))["rows"]]
