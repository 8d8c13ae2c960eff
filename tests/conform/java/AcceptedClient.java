/*
 * A stock Java client (1.3.1 and 1.4.2) that does what jobs do to a table besides writing: compacts,
 * overwrites, rescales, tags, branches, rolls back, expires. Driven over its standard input as LatchClient
 * is; tests/conform/test_accepted.py says what must come of it.
 *
 *   open URI WAREHOUSE TOKEN     the catalog of the commands that follow     files PATH   one of files
 *   create DB T SCHEMA           register DB T PATH      set DB T KEY VALUE
 *   write DB T ROWS [K=V ...]    overwrite DB T SPEC ROWS [K=V ...]    truncate DB T
 *   drop-partitions DB T SPECS   compact DB T full|minor [K=V ...]     compact-manifests DB T
 *   read DB T [K=V ...]          live DB T               kinds DB T              changelogs DB T
 *   analyze DB T                 statistics DB T         expire DB T KEPT        expire-changelogs DB T KEPT
 *   tag DB T TAG [ID]            untag DB T TAG          rollback DB T ID        rollback-tag DB T TAG
 *   branch DB T BRANCH [TAG]     unbranch DB T BRANCH    forward DB T BRANCH     as-latest DB T ID
 *   begin NAME DB T [K=V ...]    put NAME ROWS           squeeze NAME full|minor flush NAME     end NAME
 *   plan NAME DB T [K=V ...]     commit-plan NAME checked|unchecked
 *
 * ROWS is a JSON list of lists, one of them with a value more than there are columns ends in its kind, "-D".
 * SPEC is a JSON object, {} for all. K=V are dynamic options of the table. live: a JSON list of
 * [partition in hex, bucket, total buckets, level, name, external path] for each file.
 *
 * begin opens a writer and a committer that stay open over many commits, as a stream's do. plan makes the
 * messages of a full compaction and keeps them; commit-plan commits them, "unchecked" without the client's own
 * look at the latest snapshot, as clients do that have none.
 */
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.UUID;

import org.apache.paimon.Snapshot;
import org.apache.paimon.append.AppendCompactCoordinator;
import org.apache.paimon.append.AppendCompactTask;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.index.BucketAssigner;
import org.apache.paimon.index.HashBucketAssigner;
import org.apache.paimon.index.SimpleHashBucketAssigner;
import org.apache.paimon.manifest.BucketEntry;
import org.apache.paimon.manifest.FileEntry;
import org.apache.paimon.manifest.FileKind;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.manifest.ManifestFile;
import org.apache.paimon.manifest.ManifestList;
import org.apache.paimon.operation.BaseAppendFileStoreWrite;
import org.apache.paimon.options.ExpireConfig;
import org.apache.paimon.options.Options;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.schema.SchemaChange;
import org.apache.paimon.stats.Statistics;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.BatchTableCommit;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.DynamicBucketRowKeyExtractor;
import org.apache.paimon.table.sink.StreamTableCommit;
import org.apache.paimon.table.sink.StreamTableWrite;
import org.apache.paimon.table.sink.TableCommitImpl;
import org.apache.paimon.table.sink.TableWriteImpl;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.types.RowKind;
import org.apache.paimon.types.RowType;
import org.apache.paimon.utils.JsonSerdeUtil;
import org.apache.paimon.utils.Pair;

public final class AcceptedClient {
    private static final long BATCH = Long.MAX_VALUE;

    private static final Map<String, Session> sessions = new HashMap<>();
    private static final Map<String, Plan> plans = new HashMap<>();
    private static Catalog catalog;
    private static String scratch;
    private static IOManager io;

    public static void main(String[] args) throws Exception {
        CommandLoop loop = new CommandLoop();
        scratch = Files.createTempDirectory("latch-java-").toString();
        io = IOManager.create(scratch);
        loop.serve(AcceptedClient::run);
        System.exit(0);
    }

    private static String run(String[] a) throws Exception {
        switch (a[0]) {
            case "open":
                catalog = CatalogFactory.createCatalog(CatalogContext.create(RestOptions.of(a[1], a[2], a[3])));
                return "";
            case "files":
                Options o = new Options();
                o.set("warehouse", a[1]);
                o.set("cache-enabled", "false");
                catalog = CatalogFactory.createCatalog(CatalogContext.create(o));
                return "";
            case "create-database":
                catalog.createDatabase(a[1], true);
                return "";
            case "begin":
                sessions.put(a[1], new Session(table(a, 2, 4)));
                return "";
            case "put":
                sessions.get(a[1]).put(list(a[2]));
                return "";
            case "squeeze":
                sessions.get(a[1]).compact(a[2].equals("full"));
                return "";
            case "flush":
                return sessions.get(a[1]).flush();
            case "end":
                sessions.remove(a[1]).close();
                return "";
            case "plan":
                plans.put(a[1], new Plan(table(a, 2, 4)));
                return String.valueOf(plans.get(a[1]).messages.size());
            case "commit-plan":
                plans.get(a[1]).commit(a[2].equals("checked"));
                return "";
            default:
                return runOnTable(a, Identifier.create(a[1], a[2]));
        }
    }

    private static String runOnTable(String[] a, Identifier id) throws Exception {
        switch (a[0]) {
            case "create":
                catalog.createTable(id, JsonSerdeUtil.fromJson(a[3], Schema.class), false);
                return "";
            case "register":
                catalog.registerTable(id, a[3]);
                return "";
            case "set":
                catalog.alterTable(id, SchemaChange.setOption(a[3], a[4]), false);
                return "";
            case "write":
                write(table(a, 1, 4), list(a[3]), null);
                return "";
            case "overwrite":
                write(table(a, 1, 5), list(a[4]), map(a[3]));
                return "";
            case "compact":
                compact(table(a, 1, 4), a[3].equals("full"));
                return "";
            case "read":
                return JsonSerdeUtil.toFlatJson(read(table(a, 1, 3)));
            default:
                return runOnMetadata(a, id, table(a, 1, a.length));
        }
    }

    private static String runOnMetadata(String[] a, Identifier id, FileStoreTable t) throws Exception {
        switch (a[0]) {
            case "truncate":
                batch(t, BatchTableCommit::truncateTable);
                return "";
            case "drop-partitions":
                batch(t, c -> c.truncatePartitions(specs(a[3])));
                return "";
            case "compact-manifests":
                batch(t, BatchTableCommit::compactManifests);
                return "";
            case "analyze":
                Snapshot s = t.snapshotManager().latestSnapshot();
                batch(t, c -> c.updateStatistics(new Statistics(s.id(), s.schemaId(), s.totalRecordCount(), 1L)));
                return "";
            case "statistics":
                return t.statistics().map(x -> x.snapshotId() + " " + x.mergedRecordCount().getAsLong()).orElse("none");
            case "live":
                return JsonSerdeUtil.toFlatJson(live(t));
            case "kinds":
                return kinds(t.snapshotManager().snapshots());
            case "changelogs":
                return kindsOfChangelogs(t);
            case "expire":
                int kept = Integer.parseInt(a[3]);
                return String.valueOf(t.newExpireSnapshots().config(expiry(t, kept, kept, 1000)).expire());
            case "expire-changelogs":
                int left = Integer.parseInt(a[3]);
                return String.valueOf(t.newExpireChangelog().config(expiry(t, 1, left, left)).expire());
            default:
                return runOnRefs(a, id, t);
        }
    }

    private static String runOnRefs(String[] a, Identifier id, FileStoreTable t) throws Exception {
        switch (a[0]) {
            case "tag":
                if (a.length > 4) {
                    t.createTag(a[3], Long.parseLong(a[4]));
                } else {
                    t.createTag(a[3]);
                }
                return "";
            case "untag":
                t.deleteTag(a[3]);
                return "";
            case "branch":
                if (a.length > 4) {
                    t.createBranch(a[3], a[4]);
                } else {
                    t.createBranch(a[3]);
                }
                return "";
            case "unbranch":
                t.deleteBranch(a[3]);
                return "";
            case "forward":
                t.fastForward(a[3]);
                return "";
            case "rollback":
                t.rollbackTo(Long.parseLong(a[3]));
                return "";
            case "rollback-tag":
                t.rollbackTo(a[3]);
                return "";
            case "as-latest":
                return String.valueOf(asLatest(id, t, Long.parseLong(a[3])));
            default:
                throw new IllegalArgumentException("unknown command " + a[0]);
        }
    }

    // --- words -----------------------------------------------------------------------------------------
    private static FileStoreTable table(String[] a, int at, int options) throws Exception {
        Map<String, String> dynamic = new HashMap<>();
        for (int i = options; i < a.length; i++) {
            int eq = a[i].indexOf('=');
            dynamic.put(a[i].substring(0, eq), a[i].substring(eq + 1));
        }
        FileStoreTable t = (FileStoreTable) catalog.getTable(Identifier.create(a[at], a[at + 1]));
        return dynamic.isEmpty() ? t : t.copy(dynamic);
    }

    private static List<?> list(String json) {
        return JsonSerdeUtil.fromJson(json, List.class);
    }

    private static Map<String, String> map(String json) {
        Map<String, String> out = new HashMap<>();
        JsonSerdeUtil.fromJson(json, Map.class).forEach((k, v) -> out.put((String) k, (String) v));
        return out;
    }

    private static List<Map<String, String>> specs(String json) {
        List<Map<String, String>> out = new ArrayList<>();
        for (Object spec : list(json)) {
            Map<String, String> one = new HashMap<>();
            ((Map<?, ?>) spec).forEach((k, v) -> one.put((String) k, (String) v));
            out.add(one);
        }
        return out;
    }

    private static GenericRow row(List<?> values, RowType type) {
        int width = type.getFieldCount();
        boolean kind = values.size() > width;
        GenericRow r = TypedRows.row(kind ? values.subList(0, width) : values, type);
        if (kind) {
            r.setRowKind(RowKind.fromShortString((String) values.get(width)));
        }
        return r;
    }

    private static List<Object> read(FileStoreTable table) throws Exception {
        ReadBuilder builder = table.newReadBuilder();
        List<Object> rows = new ArrayList<>();
        try (RecordReader<InternalRow> reader = builder.newRead().withIOManager(io).createReader(builder.newScan().plan())) {
            reader.forEachRemaining(r -> rows.add(TypedRows.fields(r, table.rowType())));
        }
        return rows;
    }

    private static List<Object> live(FileStoreTable t) {
        List<Object> out = new ArrayList<>();
        for (ManifestEntry e : t.store().newScan().plan().files()) {
            StringBuilder hex = new StringBuilder();
            for (byte b : e.partition().toBytes()) {
                hex.append(String.format("%02x", b));
            }
            out.add(Arrays.asList(hex.toString(), e.bucket(), e.totalBuckets(), e.file().level(), e.file().fileName(),
                    e.file().externalPath().orElse(null)));
        }
        return out;
    }

    private static String kinds(Iterator<Snapshot> it) {
        List<Snapshot> all = new ArrayList<>();
        it.forEachRemaining(all::add);
        all.sort((x, y) -> Long.compare(x.id(), y.id()));
        StringBuilder b = new StringBuilder();
        all.forEach(s -> b.append(b.length() == 0 ? "" : ",").append(s.commitKind()));
        return b.toString();
    }

    private static String kindsOfChangelogs(FileStoreTable t) throws Exception {
        List<String> out = new ArrayList<>();
        t.changelogManager().changelogs().forEachRemaining(c -> out.add(String.valueOf(c.id())));
        Collections.sort(out);
        return String.join(",", out);
    }

    private static ExpireConfig expiry(FileStoreTable t, int min, int max, int changelogs) {
        return ExpireConfig.builder().snapshotRetainMin(min).snapshotRetainMax(max).snapshotTimeRetain(Duration.ZERO)
                .changelogRetainMin(changelogs).changelogRetainMax(changelogs).changelogTimeRetain(Duration.ZERO).build();
    }

    // --- commits ---------------------------------------------------------------------------------------
    private interface OnCommit {
        void run(BatchTableCommit c) throws Exception;
    }

    private static void batch(FileStoreTable t, OnCommit what) throws Exception {
        try (BatchTableCommit c = t.newBatchWriteBuilder().newCommit()) {
            what.run(c);
        }
    }

    /* One batch commit; with a spec it overwrites. */
    private static void write(FileStoreTable t, List<?> rows, Map<String, String> overwrite) throws Exception {
        String user = UUID.randomUUID().toString();
        TableCommitImpl commit = t.newCommit(user);
        if (overwrite != null) {
            commit.withOverwrite(overwrite);
        }
        try (Writer w = new Writer(t, user, overwrite != null)) {
            for (Object r : rows) {
                w.write((List<?>) r);
            }
            commit.commit(w.prepare(true, BATCH));
        }
        commit.close();
    }

    /* A writer that knows how to find the bucket of a row where the table's own does not. */
    private static final class Writer implements AutoCloseable {
        private final FileStoreTable table;
        private final TableWriteImpl<?> write;
        private final DynamicBucketRowKeyExtractor keys;
        private final BucketAssigner buckets;

        Writer(FileStoreTable t, String user, boolean overwrite) {
            table = t;
            write = (TableWriteImpl<?>) t.newWrite(user).withIOManager(io);
            write.withIgnorePreviousFiles(overwrite);
            if (t.bucketMode() != BucketMode.HASH_DYNAMIC) {
                keys = null;
                buckets = null;
                return;
            }
            keys = new DynamicBucketRowKeyExtractor(t.schema());
            long target = t.coreOptions().dynamicBucketTargetRowNum();
            buckets = overwrite ? new SimpleHashBucketAssigner(1, 0, target, -1)
                    : new HashBucketAssigner(t.snapshotManager(), user, t.store().newIndexFileHandler(), 1, 1, 0, target, -1);
        }

        void write(List<?> values) throws Exception {
            GenericRow r = row(values, table.rowType());
            if (keys == null) {
                write.write(r);
                return;
            }
            keys.setRecord(r);
            write.write(r, buckets.assign(keys.partition(), keys.trimmedPrimaryKey().hashCode()));
        }

        void compact(boolean full) throws Exception {
            for (BucketEntry b : table.store().newScan().readBucketEntries()) {
                write.compact(b.partition(), b.bucket(), full);
            }
        }

        List<CommitMessage> prepare(boolean wait, long identifier) throws Exception {
            return write.prepareCommit(wait, identifier);
        }

        @Override
        public void close() throws Exception {
            write.close();
        }
    }

    // --- compactions -----------------------------------------------------------------------------------
    private static void compact(FileStoreTable t, boolean full) throws Exception {
        String user = UUID.randomUUID().toString();
        try (TableCommitImpl c = t.newCommit(user)) {
            c.commit(BATCH, compaction(t, user, full));
        }
    }

    private static List<CommitMessage> compaction(FileStoreTable t, String user, boolean full) throws Exception {
        if (t.coreOptions().toConfiguration().getString("data-evolution.enabled", "false").equals("true")) {
            return evolved(t, user);
        }
        if (t.bucketMode() == BucketMode.BUCKET_UNAWARE) {
            return unaware(t, user);
        }
        FileStoreTable own = t.copy(Map.of("write-only", "false"));
        try (Writer w = new Writer(own, user, false)) {
            w.compact(full);
            return w.prepare(true, BATCH);
        }
    }

    private static List<CommitMessage> unaware(FileStoreTable t, String user) throws Exception {
        List<CommitMessage> out = new ArrayList<>();
        for (AppendCompactTask task : new AppendCompactCoordinator(t, false).run()) {
            out.add(task.doCompact(t, (BaseAppendFileStoreWrite) (Object) t.store().newWrite(user)));
        }
        return out;
    }

    /* Only 1.4 has it, so by its name. */
    private static List<CommitMessage> evolved(FileStoreTable t, String user) throws Exception {
        Class<?> made = Class.forName("org.apache.paimon.append.dataevolution.DataEvolutionCompactCoordinator");
        Object coordinator = made.getConstructor(FileStoreTable.class, boolean.class, boolean.class)
                .newInstance(t, false, false);
        List<CommitMessage> out = new ArrayList<>();
        for (Object task : (List<?>) made.getMethod("plan").invoke(coordinator)) {
            out.add((CommitMessage) task.getClass().getMethod("doCompact", FileStoreTable.class, String.class)
                    .invoke(task, t, user));
        }
        return out;
    }

    private static final class Plan {
        final FileStoreTable table;
        final String user = UUID.randomUUID().toString();
        final List<CommitMessage> messages;

        Plan(FileStoreTable t) throws Exception {
            table = t;
            messages = compaction(t, user, true);
        }

        void commit(boolean checked) throws Exception {
            try (TableCommitImpl c = table.newCommit(user)) {
                if (!checked) {
                    Class.forName("BlindCommit").getMethod("blind", TableCommitImpl.class).invoke(null, c);
                }
                c.commit(BATCH, messages);
            }
        }
    }

    // --- a stream --------------------------------------------------------------------------------------
    private static final class Session {
        private final Writer write;
        private final StreamTableCommit commit;
        private long identifier;

        Session(FileStoreTable t) {
            String user = "stream-" + UUID.randomUUID();
            write = new Writer(t, user, false);
            commit = t.newCommit(user);
        }

        void put(List<?> rows) throws Exception {
            for (Object r : rows) {
                write.write((List<?>) r);
            }
        }

        void compact(boolean full) throws Exception {
            write.compact(full);
        }

        String flush() throws Exception {
            commit.commit(++identifier, write.prepare(true, identifier));
            return String.valueOf(identifier);
        }

        void close() throws Exception {
            write.close();
            commit.close();
        }
    }

    // --- what 2.1 calls rollbackToAsLatest ----------------------------------------------------------
    private static List<ManifestEntry> entries(ManifestFile file, ManifestList list, Snapshot s,
            Map<FileEntry.Identifier, ManifestEntry> by) {
        FileEntry.mergeEntries(file, list.readDataManifests(s), by, null);
        by.entrySet().removeIf(e -> e.getValue().kind() != FileKind.ADD);
        return new ArrayList<>(by.values());
    }

    private static ManifestEntry entry(FileKind kind, ManifestEntry e) {
        return ManifestEntry.create(kind, e.partition(), e.bucket(), e.totalBuckets(), e.file());
    }

    private static boolean asLatest(Identifier id, FileStoreTable t, long target) throws Exception {
        ManifestFile file = t.store().manifestFileFactory().create();
        ManifestList list = t.store().manifestListFactory().create();
        Snapshot latest = t.snapshotManager().latestSnapshot();
        Snapshot old = t.snapshotManager().snapshot(target);
        Map<FileEntry.Identifier, ManifestEntry> now = new HashMap<>();
        Map<FileEntry.Identifier, ManifestEntry> then = new HashMap<>();
        List<ManifestEntry> base = entries(file, list, latest, now);
        entries(file, list, old, then);
        List<ManifestEntry> delta = new ArrayList<>();
        now.forEach((k, e) -> {
            if (!then.containsKey(k)) {
                delta.add(entry(FileKind.DELETE, e));
            }
        });
        then.forEach((k, e) -> {
            if (!now.containsKey(k)) {
                delta.add(entry(FileKind.ADD, e));
            }
        });
        Pair<String, Long> baseList = list.write(file.write(base));
        Pair<String, Long> deltaList = list.write(file.write(delta));
        long change = delta.stream()
                .mapToLong(e -> e.kind() == FileKind.ADD ? e.file().rowCount() : -e.file().rowCount()).sum();
        // By its JSON: the constructors of the two versions differ.
        Map<String, Object> made = new HashMap<>();
        JsonSerdeUtil.fromJson(old.toJson(), Map.class).forEach((k, v) -> made.put((String) k, v));
        made.keySet().removeIf(k -> k.startsWith("changelog"));
        made.put("id", latest.id() + 1);
        made.put("baseManifestList", baseList.getKey());
        made.put("baseManifestListSize", baseList.getRight());
        made.put("deltaManifestList", deltaList.getKey());
        made.put("deltaManifestListSize", deltaList.getRight());
        made.put("commitUser", "rollback-" + UUID.randomUUID());
        made.put("commitIdentifier", BATCH);
        made.put("commitKind", "OVERWRITE");
        made.put("timeMillis", System.currentTimeMillis());
        made.put("deltaRecordCount", change);
        if (latest.nextRowId() != null) {
            made.put("nextRowId", latest.nextRowId());
        }
        Snapshot next = Snapshot.fromJson(JsonSerdeUtil.toFlatJson(made));
        return catalog.commitSnapshot(id, t.catalogEnvironment().uuid(), next, Collections.emptyList());
    }
}
