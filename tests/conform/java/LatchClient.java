/*
 * A stock Java client of Paimon's REST catalog, driven over its standard input.
 *
 * One command a line, words separated by tabs; one answer a line: "ok TAB text" or
 * "err TAB class TAB message TAB class TAB message ..." from the exception down to its last cause.
 * One JVM for a whole suite, since starting one costs more than most tests. tests/lib/java.py drives it.
 *
 *   open URI WAREHOUSE TOKEN          databases                    create-database DB
 *   drop-database DB                  tables DB                    create DB T KIND [OPTION=VALUE ...]
 *   rename DB T DB2 T2                drop DB T                    exists DB T
 *   write DB T ROW ...                read DB T [OPTION=VALUE ...] overwrite DB T ROW ...
 *   set DB T KEY VALUE                unset DB T KEY               options DB T
 *   latest DB T                       rollback DB T ID             rollback-tag DB T TAG
 *   tag DB T TAG ID                   snapshots DB T               spread DB T THREADS COMMITS
 *   alter DB T CHANGES (a JSON array)
 *   keep-tag DB T TAG ID DURATION     untag DB T TAG               tag-file DB T TAG
 *   create-tag DB T TAG ID DURATION   get-tag DB T TAG             delete-tag DB T TAG
 *   list-tags DB T SIZE PREFIX        consumers DB T SIZE          reset-consumer DB T CONSUMER ID
 *   auth DB T                         token DB T
 *
 * tag, keep-tag and untag are the table's calls, which write files; create-tag and so on the catalog's.
 * Where ID or DURATION is "-", none is given. tag-file: what the table's own reader makes of the file.
 *
 * A row is its values joined by commas. KIND is pk (k bigint, v string; key k), append (the same
 * without a key), part (k, v, p string; key k and p, partitioned by p).
 */
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

import org.apache.paimon.PagedList;
import org.apache.paimon.Snapshot;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.consumer.ConsumerInfo;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.options.Options;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.rest.RESTApi;
import org.apache.paimon.rest.requests.AlterTableRequest;
import org.apache.paimon.rest.responses.GetTagResponse;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.schema.SchemaChange;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.Instant;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.TableSnapshot;
import org.apache.paimon.table.sink.BatchTableCommit;
import org.apache.paimon.table.sink.BatchTableWrite;
import org.apache.paimon.table.sink.BatchWriteBuilder;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.tag.Tag;
import org.apache.paimon.types.DataTypes;
import org.apache.paimon.utils.TimeUtils;

public final class LatchClient {
    private static Catalog catalog;
    private static Options opened;
    private static String scratch;

    public static void main(String[] args) throws Exception {
        CommandLoop loop = new CommandLoop();
        scratch = Files.createTempDirectory("latch-java-").toString();
        loop.serve(LatchClient::run);
        System.exit(0);
    }

    private static String run(String[] a) throws Exception {
        switch (a[0]) {
            case "open":
                return open(a[1], a[2], a[3]);
            case "databases":
                return String.join(",", catalog.listDatabases());
            case "create-database":
                catalog.createDatabase(a[1], false);
                return "";
            case "drop-database":
                catalog.dropDatabase(a[1], false, true);
                return "";
            case "tables":
                return String.join(",", catalog.listTables(a[1]));
            default:
                return runOnTable(a, Identifier.create(a[1], a[2]));
        }
    }

    private static String runOnTable(String[] a, Identifier id) throws Exception {
        switch (a[0]) {
            case "create":
                catalog.createTable(id, schema(a[3], options(a, 4)), false);
                return "";
            case "rename":
                catalog.renameTable(id, Identifier.create(a[3], a[4]), false);
                return "";
            case "drop":
                catalog.dropTable(id, false);
                return "";
            case "exists":
                try {
                    catalog.getTable(id);
                    return "true";
                } catch (Catalog.TableNotExistException e) {
                    return "false";
                }
            case "write":
                write(catalog.getTable(id), rest(a, 3), false);
                return "";
            case "overwrite":
                write(catalog.getTable(id), rest(a, 3), true);
                return "";
            case "read":
                return read(catalog.getTable(id).copy(options(a, 3)));
            case "spread":
                return spread(id, Integer.parseInt(a[3]), Integer.parseInt(a[4]));
            default:
                return runOnMetadata(a, id);
        }
    }

    private static String runOnMetadata(String[] a, Identifier id) throws Exception {
        switch (a[0]) {
            case "set":
                catalog.alterTable(id, SchemaChange.setOption(a[3], a[4]), false);
                return "";
            case "alter":
                catalog.alterTable(id, RESTApi.fromJson("{\"changes\":" + a[3] + "}", AlterTableRequest.class)
                        .getChanges(), false);
                return "";
            case "unset":
                catalog.alterTable(id, SchemaChange.removeOption(a[3]), false);
                return "";
            case "options":
                return new TreeMap<>(catalog.getTable(id).options()).toString();
            case "latest":
                return catalog.loadSnapshot(id).map(TableSnapshot::snapshot).map(LatchClient::name).orElse("none");
            case "rollback":
                catalog.rollbackTo(id, Instant.snapshot(Long.parseLong(a[3])));
                return "";
            case "rollback-tag":
                catalog.rollbackTo(id, Instant.tag(a[3]));
                return "";
            case "tag":
                catalog.getTable(id).createTag(a[3], Long.parseLong(a[4]));
                return "";
            case "snapshots":
                return snapshots((FileStoreTable) catalog.getTable(id));
            default:
                return runOnTags(a, id);
        }
    }

    private static String runOnTags(String[] a, Identifier id) throws Exception {
        switch (a[0]) {
            case "keep-tag":
                catalog.getTable(id).createTag(a[3], Long.parseLong(a[4]), TimeUtils.parseDuration(a[5]));
                return "";
            case "untag":
                catalog.getTable(id).deleteTag(a[3]);
                return "";
            case "tag-file":
                Tag file = ((FileStoreTable) catalog.getTable(id)).tagManager().getOrThrow(a[3]);
                return file.id() + " " + file.getTagTimeRetained() + " " + file.getTagCreateTime();
            case "create-tag":
                catalog.createTag(id, a[3], given(a[4]) ? Long.valueOf(a[4]) : null, given(a[5]) ? a[5] : null, false);
                return "";
            case "get-tag":
                GetTagResponse tag = catalog.getTag(id, a[3]);
                return name(tag.snapshot()) + " " + tag.tagTimeRetained() + " " + tag.tagCreateTime();
            case "delete-tag":
                catalog.deleteTag(id, a[3]);
                return "";
            case "list-tags":
                return listTags(id, Integer.valueOf(a[3]), a[4]);
            case "consumers":
                return consumers(id, Integer.valueOf(a[3]));
            case "reset-consumer":
                catalog.resetConsumer(id, a[3], given(a[4]) ? Long.valueOf(a[4]) : null);
                return "";
            case "auth":
                return String.valueOf(catalog.authTableQuery(id, null));
            case "token":
                return String.valueOf(new RESTApi(opened).loadTableToken(id).getToken());
            default:
                throw new IllegalArgumentException("unknown command " + a[0]);
        }
    }

    private static boolean given(String word) {
        return !word.equals("-");
    }

    /* All pages, joined by commas. */
    private static String listTags(Identifier id, Integer size, String prefix) throws Exception {
        List<String> out = new ArrayList<>();
        String token = null;
        do {
            PagedList<String> page = catalog.listTagsPaged(id, size, token, given(prefix) ? prefix : null);
            out.addAll(page.getElements());
            token = page.getNextPageToken();
        } while (token != null);
        return String.join(",", out);
    }

    private static String consumers(Identifier id, Integer size) throws Exception {
        List<String> out = new ArrayList<>();
        String token = null;
        do {
            PagedList<ConsumerInfo> page = catalog.listConsumersPaged(id, size, token);
            page.getElements().forEach(c -> out.add(c.getConsumerId() + "=" + c.getNextSnapshot()));
            token = page.getNextPageToken();
        } while (token != null);
        return String.join(",", out);
    }

    private static String name(Snapshot s) {
        return s.id() + " " + s.commitKind() + " " + s.commitUser();
    }

    private static List<String> rest(String[] a, int from) {
        return List.of(a).subList(from, a.length);
    }

    private static Map<String, String> options(String[] a, int from) {
        Map<String, String> out = new HashMap<>();
        for (String s : rest(a, from)) {
            int at = s.indexOf('=');
            out.put(s.substring(0, at), s.substring(at + 1));
        }
        return out;
    }

    private static String open(String uri, String warehouse, String token) throws Exception {
        Options o = RestOptions.of(uri, warehouse, token);
        catalog = CatalogFactory.createCatalog(CatalogContext.create(o));
        opened = o;
        return "";
    }

    private static Schema schema(String kind, Map<String, String> options) {
        Schema.Builder b = Schema.newBuilder().column("k", DataTypes.BIGINT()).column("v", DataTypes.STRING());
        switch (kind) {
            case "pk":
                b.primaryKey("k").option("bucket", "1");
                break;
            case "append":
                break;
            case "part":
                b.column("p", DataTypes.STRING()).partitionKeys("p").primaryKey("k", "p").option("bucket", "1");
                break;
            default:
                throw new IllegalArgumentException("unknown kind " + kind);
        }
        options.forEach(b::option);
        return b.build();
    }

    private static InternalRow row(String text) {
        String[] v = text.split(",", -1);
        GenericRow row = new GenericRow(v.length);
        row.setField(0, Long.parseLong(v[0]));
        for (int i = 1; i < v.length; i++) {
            row.setField(i, BinaryString.fromString(v[i]));
        }
        return row;
    }

    private static void write(Table table, List<String> rows, boolean overwrite) throws Exception {
        BatchWriteBuilder builder = table.newBatchWriteBuilder();
        if (overwrite) {
            builder = builder.withOverwrite();
        }
        try (BatchTableWrite write = builder.newWrite();
                BatchTableCommit commit = builder.newCommit();
                IOManager io = IOManager.create(scratch)) {
            write.withIOManager(io);
            for (String r : rows) {
                write.write(row(r));
            }
            commit.commit(write.prepareCommit());
        }
    }

    private static String read(Table table) throws Exception {
        ReadBuilder builder = table.newReadBuilder();
        List<String> rows = new ArrayList<>();
        int width = table.rowType().getFieldCount();
        try (RecordReader<InternalRow> reader = builder.newRead().createReader(builder.newScan().plan())) {
            reader.forEachRemaining(r -> rows.add(text(r, width)));
        }
        Collections.sort(rows);
        return String.join(";", rows);
    }

    private static String text(InternalRow r, int width) {
        StringBuilder b = new StringBuilder().append(r.getLong(0));
        for (int i = 1; i < width; i++) {
            b.append(',').append(r.isNullAt(i) ? "null" : r.getString(i).toString());
        }
        return b.toString();
    }

    private static String snapshots(FileStoreTable table) throws Exception {
        List<String> out = new ArrayList<>();
        Iterator<Snapshot> it = table.snapshotManager().snapshots();
        it.forEachRemaining(s -> out.add(name(s)));
        Collections.sort(out);
        return String.join(";", out);
    }

    /* THREADS writers commit COMMITS rows each at once: keys t*1000+i. Answers how many succeeded. */
    private static String spread(Identifier id, int threads, int commits) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        List<Future<Integer>> results = new ArrayList<>();
        for (int t = 0; t < threads; t++) {
            int first = t * 1000;
            Callable<Integer> one = () -> {
                for (int i = 0; i < commits; i++) {
                    write(catalog.getTable(id), List.of((first + i) + ",java"), false);
                }
                return commits;
            };
            results.add(pool.submit(one));
        }
        int sum = 0;
        for (Future<Integer> f : results) {
            sum += f.get();
        }
        pool.shutdown();
        return String.valueOf(sum);
    }
}
