/*
 * Flink SQL with the stock Paimon connector, driven over standard input.
 *
 * One command a line, words separated by tabs; one answer a line: "ok TAB json" or
 * "err TAB class TAB message TAB class TAB message ..." from the exception down to its last cause.
 * One JVM with one mini cluster serves a whole suite: starting them costs more than all the tests.
 * tests/lib/flink.py drives it.
 *
 *   batch SQL           runs a statement to its end; {"columns":[...],"rows":[[kind,value,...],...]}
 *   follow NAME SQL     starts a query in streaming mode
 *   next NAME COUNT     waits for that many of its rows; the same form
 *   unfollow NAME       ends it
 *   start SQL           starts an INSERT in streaming mode; cancel: ends it
 *   catalog SQL         runs a statement in both modes, for what a session keeps (catalogs)
 *
 * A value is JSON's where JSON has it; bytes are hex, ROWs and ARRAYs lists, MAPs objects with sorted
 * keys, everything else (decimals, dates, times) the text of Java's toString.
 */
import java.lang.reflect.Array;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.types.Row;
import org.apache.flink.util.CloseableIterator;

public final class FlinkClient {
    private static final int SLOTS = 8;

    private static TableEnvironment batch;
    private static TableEnvironment stream;
    private static final Map<String, CloseableIterator<Row>> followed = new HashMap<>();
    private static JobClient started;

    public static void main(String[] args) throws Exception {
        CommandLoop loop = new CommandLoop();
        int code = 1;
        try {
            start();
            loop.serve(FlinkClient::run);
            code = 0;
        } catch (Throwable t) {
            t.printStackTrace();
        } finally { // the cluster's threads would keep the JVM, and it holds nothing that must be written
            Runtime.getRuntime().halt(code);
        }
    }

    private static void start() throws Exception {
        Configuration conf = new Configuration();
        conf.setString("rest.address", "127.0.0.1");
        conf.setString("rest.bind-port", "0");
        conf.setString("taskmanager.memory.network.min", "64mb");
        conf.setString("taskmanager.memory.network.max", "64mb");
        conf.setString("taskmanager.memory.managed.size", "128mb");
        MiniCluster cluster = new MiniCluster(new MiniClusterConfiguration.Builder()
                .setConfiguration(conf).setNumTaskManagers(1).setNumSlotsPerTaskManager(SLOTS).build());
        cluster.start();
        Configuration job = new Configuration();
        job.setString("execution.target", "remote");
        job.setString("rest.address", cluster.getRestAddress().get().getHost());
        job.setString("rest.port", String.valueOf(cluster.getRestAddress().get().getPort()));
        job.setString("parallelism.default", "1");
        job.setString("execution.checkpointing.interval", "200ms");
        job.setString("table.local-time-zone", "UTC");
        job.setString("table.dml-sync", "true");
        Environment.use(job);
        batch = TableEnvironment.create(settings().inBatchMode().withConfiguration(job).build());
        job.setString("table.dml-sync", "false");
        stream = TableEnvironment.create(settings().inStreamingMode().withConfiguration(job).build());
    }

    private static EnvironmentSettings.Builder settings() {
        return EnvironmentSettings.newInstance();
    }

    /* Makes every job of this JVM go to the one cluster; without it each starts a cluster of its own. */
    private static final class Environment extends StreamExecutionEnvironment {
        static void use(Configuration base) {
            initializeContextEnvironment(wanted -> {
                Configuration merged = new Configuration(base);
                merged.addAll(wanted);
                merged.setString("execution.target", "remote");
                return new StreamExecutionEnvironment(merged);
            });
        }
    }

    private static String run(String[] a) throws Exception {
        switch (a[0]) {
            case "catalog": // the same in both environments
                batch.executeSql(a[1]);
                stream.executeSql(a[1]);
                return "{}";
            case "batch":
                return result(batch.executeSql(a[1]));
            case "follow":
                followed.put(a[1], stream.executeSql(a[2]).collect());
                return "{}";
            case "next":
                return rows(followed.get(a[1]), null, Integer.parseInt(a[2]));
            case "unfollow":
                followed.remove(a[1]).close();
                return "{}";
            case "start":
                started = stream.executeSql(a[1]).getJobClient().get();
                return "{}";
            case "cancel":
                started.cancel().get();
                return "{}";
            default:
                throw new IllegalArgumentException("unknown command " + a[0]);
        }
    }

    private static String result(TableResult r) throws Exception {
        try (CloseableIterator<Row> it = r.collect()) {
            return rows(it, r.getResolvedSchema().getColumnNames(), Integer.MAX_VALUE);
        }
    }

    private static String rows(CloseableIterator<Row> it, List<String> columns, int most) {
        StringBuilder b = new StringBuilder("{\"columns\":").append(json(columns)).append(",\"rows\":[");
        for (int n = 0; n < most && it.hasNext(); n++) {
            Row row = it.next();
            List<Object> values = new ArrayList<>();
            values.add(row.getKind().shortString());
            values.addAll(fields(row));
            b.append(n == 0 ? "" : ",").append(json(values));
        }
        return b.append("]}").toString();
    }

    private static List<Object> fields(Row row) {
        List<Object> out = new ArrayList<>();
        for (int i = 0; i < row.getArity(); i++) {
            out.add(row.getField(i));
        }
        return out;
    }

    private static String json(Object v) {
        if (v == null || v instanceof Boolean || v instanceof Integer || v instanceof Long
                || v instanceof Short || v instanceof Byte || v instanceof Float || v instanceof Double) {
            return String.valueOf(v);
        } else if (v instanceof Row) {
            return json(fields((Row) v));
        } else if (v instanceof byte[]) {
            return quoted(hex((byte[]) v));
        } else if (v.getClass().isArray()) {
            List<Object> list = new ArrayList<>();
            for (int i = 0; i < Array.getLength(v); i++) {
                list.add(Array.get(v, i));
            }
            return json(list);
        } else if (v instanceof List) {
            List<String> parts = new ArrayList<>();
            ((List<?>) v).forEach(e -> parts.add(json(e)));
            return "[" + String.join(",", parts) + "]";
        } else if (v instanceof Map) {
            Map<String, String> parts = new TreeMap<>();
            ((Map<?, ?>) v).forEach((k, e) -> parts.put(quoted(String.valueOf(k)), json(e)));
            List<String> all = new ArrayList<>();
            parts.forEach((k, e) -> all.add(k + ":" + e));
            return "{" + String.join(",", all) + "}";
        }
        return quoted(v instanceof BigDecimal ? ((BigDecimal) v).toPlainString() : v.toString());
    }

    private static String hex(byte[] bytes) {
        StringBuilder b = new StringBuilder();
        for (byte x : bytes) {
            b.append(String.format("%02x", x));
        }
        return b.toString();
    }

    private static String quoted(String s) {
        StringBuilder b = new StringBuilder("\"");
        for (char c : s.toCharArray()) {
            if (c < ' ' || c == '"' || c == '\\') {
                b.append(String.format("\\u%04x", (int) c));
            } else {
                b.append(c);
            }
        }
        return b.append('"').toString();
    }
}
