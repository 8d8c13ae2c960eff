/*
 * A stock Java client of any version since 1.3 that writes and reads rows of many types, driven over its
 * standard input as LatchClient is: a command a line, words separated by tabs, "ok TAB text" or "err ...".
 *
 *   open URI WAREHOUSE TOKEN    create DB T SCHEMA    write DB T ROWS    read DB T
 *
 * SCHEMA is the JSON of Paimon's Schema; ROWS is a JSON list of lists and so is what read answers. Bytes
 * are hex, ROWs and ARRAYs lists, MAPs objects; decimals, dates and timestamps are Java's texts of them.
 */
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;

import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.sink.BatchTableCommit;
import org.apache.paimon.table.sink.BatchTableWrite;
import org.apache.paimon.table.sink.BatchWriteBuilder;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.utils.JsonSerdeUtil;

public final class TypedClient {
    private static Catalog catalog;
    private static String scratch;

    public static void main(String[] args) throws Exception {
        CommandLoop loop = new CommandLoop();
        scratch = Files.createTempDirectory("latch-java-").toString();
        loop.serve(TypedClient::run);
        System.exit(0);
    }

    private static String run(String[] a) throws Exception {
        switch (a[0]) {
            case "open":
                return open(a[1], a[2], a[3]);
            case "create":
                catalog.createTable(Identifier.create(a[1], a[2]), JsonSerdeUtil.fromJson(a[3], Schema.class), false);
                return "";
            case "write":
                write(catalog.getTable(Identifier.create(a[1], a[2])), JsonSerdeUtil.fromJson(a[3], List.class));
                return "";
            case "read":
                return JsonSerdeUtil.toFlatJson(read(catalog.getTable(Identifier.create(a[1], a[2]))));
            default:
                throw new IllegalArgumentException("unknown command " + a[0]);
        }
    }

    private static String open(String uri, String warehouse, String token) {
        catalog = CatalogFactory.createCatalog(CatalogContext.create(RestOptions.of(uri, warehouse, token)));
        return "";
    }

    private static void write(Table table, List<?> rows) throws Exception {
        BatchWriteBuilder builder = table.newBatchWriteBuilder();
        try (BatchTableWrite write = builder.newWrite();
                BatchTableCommit commit = builder.newCommit();
                IOManager io = IOManager.create(scratch)) {
            write.withIOManager(io);
            for (Object row : rows) {
                write.write(TypedRows.row((List<?>) row, table.rowType()));
            }
            commit.commit(write.prepareCommit());
        }
    }

    private static List<Object> read(Table table) throws Exception {
        ReadBuilder builder = table.newReadBuilder();
        List<Object> rows = new ArrayList<>();
        try (RecordReader<InternalRow> reader = builder.newRead().createReader(builder.newScan().plan())) {
            reader.forEachRemaining(r -> rows.add(TypedRows.fields(r, table.rowType())));
        }
        return rows;
    }
}
