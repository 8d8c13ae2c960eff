/*
 * What a stock Paimon reads in the metadata files of a table in the file system, and tables to read.
 *
 * One request a line; one answer a line, as LatchClient answers. A request is one of
 *   make TAB DIR                 makes tables below DIR: pk (partitions, deletes, compaction), dv (deletion
 *                                vectors), dynamic (hash index), append (file index beside the files)
 *   manifest TAB DIR TAB NAME    the entries of a manifest of the table in DIR
 *   list TAB DIR TAB NAME        those of a manifest list
 *   index TAB DIR TAB NAME       those of an index manifest
 *   rows TAB DIR                 all rows, sorted
 *   append TAB DIR TAB K TAB V   commits a row, with whatever maintenance the client does then
 *   merge TAB DIR                merges the table's manifests
 * Entries are their toString, separated by U+0001.
 */
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.fs.Path;
import org.apache.paimon.fs.local.LocalFileIO;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.schema.SchemaManager;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.FileStoreTableFactory;
import org.apache.paimon.table.sink.BatchTableCommit;
import org.apache.paimon.table.sink.StreamTableCommit;
import org.apache.paimon.table.sink.StreamTableWrite;
import org.apache.paimon.table.sink.StreamWriteBuilder;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.types.DataTypes;
import org.apache.paimon.types.RowKind;

public final class ManifestOracle {
    private static final LocalFileIO IO = LocalFileIO.create();
    private static long identifier = 1;

    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err); // whatever a library prints must not look like an answer
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        answers.println("ok\tready");
        for (String line; (line = in.readLine()) != null; ) {
            try {
                answers.println("ok\t" + clean(answer(line.split("\t", -1))));
            } catch (Exception | LinkageError e) {
                StringBuilder text = new StringBuilder("err");
                for (Throwable t = e; t != null; t = t.getCause()) {
                    text.append('\t').append(t.getClass().getSimpleName()).append('\t').append(clean("" + t.getMessage()));
                }
                answers.println(text);
            }
        }
    }

    private static String clean(String text) {
        return text.replace('\t', ' ').replace('\n', ' ').replace('\r', ' ');
    }

    private static String answer(String[] words) throws Exception {
        switch (words[0]) {
            case "make":
                make(words[1]);
                return "";
            case "manifest":
                return join(open(words[1]).store().manifestFileFactory().create().read(words[2]));
            case "list":
                return join(open(words[1]).store().manifestListFactory().create().read(words[2]));
            case "index":
                return join(open(words[1]).store().indexManifestFileFactory().create().read(words[2]));
            case "rows":
                return rows(open(words[1]));
            case "append":
                commit(open(words[1]), w -> w.write(row(Integer.parseInt(words[2]), words[3])));
                return "";
            case "merge":
                try (BatchTableCommit c = open(words[1]).newBatchWriteBuilder().newCommit()) {
                    c.compactManifests();
                }
                return "";
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private static String join(List<?> entries) {
        return entries.stream().map(Object::toString).collect(Collectors.joining("\u0001"));
    }

    private static FileStoreTable open(String dir) {
        return FileStoreTableFactory.create(IO, new Path(dir));
    }

    private static FileStoreTable create(String dir, Schema.Builder schema) throws Exception {
        new SchemaManager(IO, new Path(dir)).createTable(schema.build());
        return open(dir);
    }

    private static Schema.Builder columns() {
        return Schema.newBuilder().column("k", DataTypes.INT().notNull()).column("v", DataTypes.STRING());
    }

    private static GenericRow row(int k, String v) {
        return GenericRow.of(k, v == null ? null : BinaryString.fromString(v));
    }

    private static GenericRow row(RowKind kind, int k, String v, String p) {
        return GenericRow.ofKind(kind, k, v == null ? null : BinaryString.fromString(v), BinaryString.fromString(p));
    }

    private interface Work {
        void with(StreamTableWrite w) throws Exception;
    }

    private static void commit(FileStoreTable table, Work work) throws Exception {
        StreamWriteBuilder builder = table.newStreamWriteBuilder();
        try (StreamTableWrite w = (StreamTableWrite) builder.newWrite(); StreamTableCommit c = builder.newCommit()) {
            w.withIOManager(IOManager.create(System.getProperty("java.io.tmpdir")));
            work.with(w);
            c.commit(identifier, w.prepareCommit(true, identifier));
            identifier++;
        }
    }

    private static void make(String dir) throws Exception {
        FileStoreTable pk = create(dir + "/pk", columns().column("p", DataTypes.STRING().notNull())
                .partitionKeys("p").primaryKey("p", "k").option("bucket", "2"));
        commit(pk, w -> {
            for (int i = 0; i < 30; i++) {
                w.write(row(RowKind.INSERT, i, "first " + i, i % 3 == 0 ? "a" : "a partition with \u00e4"));
            }
        });
        commit(pk, w -> w.write(row(RowKind.DELETE, 3, "x", "a")));
        commit(pk, w -> w.write(row(RowKind.INSERT, 6, null, "a")));
        commit(pk, w -> {
            w.compact(BinaryRow.singleColumn("a"), 0, true);
            w.compact(BinaryRow.singleColumn("a"), 1, true);
        });
        FileStoreTable dv = create(dir + "/dv", columns().primaryKey("k").option("bucket", "1")
                .option("deletion-vectors.enabled", "true"));
        commit(dv, w -> {
            for (int i = 0; i < 40; i++) {
                w.write(row(i, "old"));
            }
        });
        commit(dv, w -> w.write(row(7, "new")));
        commit(dv, w -> w.write(row(9, "new")));
        FileStoreTable dynamic = create(dir + "/dynamic", columns().primaryKey("k").option("bucket", "-1"));
        commit(dynamic, w -> w.write(row(1, "one"), 0));
        FileStoreTable append = create(dir + "/append", columns().option("bucket", "-1")
                .option("file-index.bloom-filter.columns", "v").option("file-index.in-manifest-threshold", "1 b"));
        commit(append, w -> w.write(row(1, "one"), 0));
        commit(append, w -> w.write(row(2, "two"), 0));
    }

    private static String rows(FileStoreTable table) throws IOException {
        List<String> rows = new ArrayList<>();
        ReadBuilder builder = table.newReadBuilder();
        RecordReader<InternalRow> reader = builder.newRead().createReader(builder.newScan().plan().splits());
        List<InternalRow.FieldGetter> getters = new ArrayList<>();
        for (int i = 0; i < table.rowType().getFieldCount(); i++) {
            getters.add(InternalRow.createFieldGetter(table.rowType().getTypeAt(i), i));
        }
        reader.forEachRemaining(row -> {
            List<String> values = new ArrayList<>();
            for (InternalRow.FieldGetter g : getters) {
                values.add(String.valueOf(g.getFieldOrNull(row)));
            }
            rows.add(String.join(",", values));
        });
        return rows.stream().sorted().collect(Collectors.joining(";"));
    }
}
