/* How the stock Java clients here open a catalog of this server. */
import org.apache.paimon.options.Options;

final class RestOptions {
    private RestOptions() {
    }

    static Options of(String uri, String warehouse, String token) {
        Options o = new Options();
        o.set("metastore", "rest");
        o.set("uri", uri);
        o.set("warehouse", warehouse);
        o.set("token.provider", "bear");
        o.set("token", token);
        // Each call sees the server, not the client's memory; and the cache of 1.4.2 does not hand on
        // lists of functions.
        o.set("cache-enabled", "false");
        return o;
    }
}
