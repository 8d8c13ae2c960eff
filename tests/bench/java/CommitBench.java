import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.options.Options;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.sink.BatchTableCommit;
import org.apache.paimon.table.sink.BatchTableWrite;
import org.apache.paimon.table.sink.BatchWriteBuilder;
import org.apache.paimon.types.DataTypes;

/**
 * Times commits of the stock Java client. Arguments: ROUNDS COMMITS WRITERS EACH, then NAME=URI pairs,
 * where URI is fs:DIR or http://...;WAREHOUSE;TOKEN. All targets run in one JVM, round by round, so
 * that they share whatever the machine does. Prints "NAME one P50_MS" and "NAME many OK FAILED RATE".
 */
public class CommitBench {
    static Catalog open(String uri) {
        Options o = new Options();
        if (uri.startsWith("fs:")) {
            o.set("warehouse", uri.substring(3));
        } else {
            String[] p = uri.split(";");
            o.set("metastore", "rest");
            o.set("uri", p[0]);
            o.set("warehouse", p[1]);
            o.set("token.provider", "bear");
            o.set("token", p[2]);
        }
        return CatalogFactory.createCatalog(CatalogContext.create(o));
    }

    static Identifier create(Catalog c) throws Exception {
        c.createDatabase("bench", true);
        Identifier id = Identifier.create("bench", "t" + UUID.randomUUID().toString().substring(0, 8));
        c.createTable(
                id,
                Schema.newBuilder()
                        .column("k", DataTypes.BIGINT())
                        .column("v", DataTypes.STRING())
                        .option("bucket", "-1")
                        .option("commit.max-retries", "200")
                        .option("commit.max-retry-wait", "200 ms")
                        .build(),
                false);
        return id;
    }

    static double commit(Table t, long k) throws Exception {
        BatchWriteBuilder wb = t.newBatchWriteBuilder();
        try (BatchTableWrite w = wb.newWrite(); BatchTableCommit cm = wb.newCommit()) {
            w.write(GenericRow.of(k, BinaryString.fromString("x")));
            var messages = w.prepareCommit();
            long t0 = System.nanoTime();
            cm.commit(messages);
            return (System.nanoTime() - t0) / 1e6;
        }
    }

    static double p50(Catalog c, int commits) throws Exception {
        Table t = c.getTable(create(c));
        double[] d = new double[commits];
        for (int i = 0; i < commits; i++) {
            d[i] = commit(t, i);
        }
        Arrays.sort(d);
        return d[commits / 2];
    }

    static String many(Catalog c, int writers, int each) throws Exception {
        Identifier id = create(c);
        ExecutorService pool = Executors.newFixedThreadPool(writers);
        AtomicInteger ok = new AtomicInteger();
        AtomicInteger bad = new AtomicInteger();
        List<Future<?>> all = new ArrayList<>();
        long t0 = System.nanoTime();
        for (int w = 0; w < writers; w++) {
            all.add(pool.submit(() -> {
                Table t = c.getTable(id);
                for (int j = 0; j < each; j++) {
                    try {
                        commit(t, j);
                        ok.incrementAndGet();
                    } catch (Exception e) {
                        bad.incrementAndGet();
                    }
                }
                return null;
            }));
        }
        for (Future<?> f : all) {
            f.get();
        }
        double seconds = (System.nanoTime() - t0) / 1e9;
        pool.shutdown();
        return ok.get() + " " + bad.get() + " " + ok.get() / seconds;
    }

    public static void main(String[] a) throws Exception {
        int rounds = Integer.parseInt(a[0]);
        int commits = Integer.parseInt(a[1]);
        int writers = Integer.parseInt(a[2]);
        int each = Integer.parseInt(a[3]);
        String[] names = new String[a.length - 4];
        Catalog[] catalogs = new Catalog[names.length];
        for (int i = 0; i < names.length; i++) {
            names[i] = a[i + 4].substring(0, a[i + 4].indexOf('='));
            catalogs[i] = open(a[i + 4].substring(names[i].length() + 1));
            p50(catalogs[i], commits); // warm: classes, JIT, page cache
        }
        for (int r = 0; r < rounds; r++) {
            for (int i = 0; i < names.length; i++) {
                System.out.println(names[i] + " one " + p50(catalogs[i], commits));
            }
        }
        for (int r = 0; r < rounds; r++) {
            for (int i = 0; i < names.length; i++) {
                System.out.println(names[i] + " many " + many(catalogs[i], writers, each));
            }
        }
        System.exit(0);
    }
}
