/*
 * A stock Java client of any version since 1.3 that writes and reads rows of many types, driven over its
 * standard input as LatchClient is: a command a line, words separated by tabs, "ok TAB text" or "err ...".
 *
 *   open URI WAREHOUSE TOKEN    create DB T SCHEMA    write DB T ROWS    read DB T
 *
 * SCHEMA is the JSON of Paimon's Schema; ROWS is a JSON list of lists and so is what read answers. Bytes
 * are hex, ROWs and ARRAYs lists, MAPs objects; decimals, dates and timestamps are Java's texts of them.
 */
import java.math.BigDecimal;
import java.nio.file.Files;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.GenericArray;
import org.apache.paimon.data.GenericMap;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalArray;
import org.apache.paimon.data.InternalMap;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.sink.BatchTableCommit;
import org.apache.paimon.table.sink.BatchTableWrite;
import org.apache.paimon.table.sink.BatchWriteBuilder;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.types.ArrayType;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DecimalType;
import org.apache.paimon.types.MapType;
import org.apache.paimon.types.RowType;
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
                write.write(row((List<?>) row, table.rowType()));
            }
            commit.commit(write.prepareCommit());
        }
    }

    private static List<Object> read(Table table) throws Exception {
        ReadBuilder builder = table.newReadBuilder();
        List<Object> rows = new ArrayList<>();
        try (RecordReader<InternalRow> reader = builder.newRead().createReader(builder.newScan().plan())) {
            reader.forEachRemaining(r -> rows.add(fields(r, table.rowType())));
        }
        return rows;
    }

    // --- from JSON to Paimon's own values ----------------------------------------------------------
    private static InternalRow row(List<?> values, RowType type) {
        GenericRow row = new GenericRow(values.size());
        for (int i = 0; i < values.size(); i++) {
            row.setField(i, internal(values.get(i), type.getTypeAt(i)));
        }
        return row;
    }

    private static Object internal(Object v, DataType type) {
        if (v == null) {
            return null;
        }
        switch (type.getTypeRoot()) {
            case BOOLEAN:
                return v;
            case TINYINT:
                return ((Number) v).byteValue();
            case SMALLINT:
                return ((Number) v).shortValue();
            case INTEGER:
                return ((Number) v).intValue();
            case BIGINT:
                return ((Number) v).longValue();
            case FLOAT:
                return ((Number) v).floatValue();
            case DOUBLE:
                return ((Number) v).doubleValue();
            case DECIMAL:
                DecimalType d = (DecimalType) type;
                return Decimal.fromBigDecimal(new BigDecimal((String) v), d.getPrecision(), d.getScale());
            case VARBINARY:
                return bytes((String) v);
            case DATE:
                return (int) LocalDate.parse((String) v).toEpochDay();
            case TIMESTAMP_WITHOUT_TIME_ZONE:
                return Timestamp.fromLocalDateTime(LocalDateTime.parse((String) v));
            case ARRAY:
                return new GenericArray(((List<?>) v).stream()
                        .map(e -> internal(e, ((ArrayType) type).getElementType())).toArray());
            case MAP:
                Map<Object, Object> map = new HashMap<>();
                ((Map<?, ?>) v).forEach((k, e) -> map.put(
                        internal(k, ((MapType) type).getKeyType()), internal(e, ((MapType) type).getValueType())));
                return new GenericMap(map);
            case ROW:
                return row((List<?>) v, (RowType) type);
            default:
                return BinaryString.fromString((String) v);
        }
    }

    private static byte[] bytes(String hex) {
        byte[] out = new byte[hex.length() / 2];
        for (int i = 0; i < out.length; i++) {
            out[i] = (byte) Integer.parseInt(hex.substring(2 * i, 2 * i + 2), 16);
        }
        return out;
    }

    // --- and back --------------------------------------------------------------------------------------
    private static List<Object> fields(InternalRow r, RowType type) {
        List<Object> out = new ArrayList<>();
        for (int i = 0; i < type.getFieldCount(); i++) {
            DataType t = type.getTypeAt(i);
            out.add(external(InternalRow.createFieldGetter(t, i).getFieldOrNull(r), t));
        }
        return out;
    }

    private static Object external(Object v, DataType type) {
        if (v == null) {
            return null;
        }
        switch (type.getTypeRoot()) {
            case DATE:
                return LocalDate.ofEpochDay((Integer) v).toString();
            case DECIMAL:
                return ((Decimal) v).toBigDecimal().toPlainString();
            case VARBINARY:
                StringBuilder hex = new StringBuilder();
                for (byte b : (byte[]) v) {
                    hex.append(String.format("%02x", b));
                }
                return hex.toString();
            case ARRAY:
                return list((InternalArray) v, ((ArrayType) type).getElementType());
            case MAP:
                List<Object> keys = list(((InternalMap) v).keyArray(), ((MapType) type).getKeyType());
                List<Object> values = list(((InternalMap) v).valueArray(), ((MapType) type).getValueType());
                Map<String, Object> map = new TreeMap<>();
                for (int i = 0; i < keys.size(); i++) {
                    map.put(String.valueOf(keys.get(i)), values.get(i));
                }
                return new LinkedHashMap<>(map);
            case ROW:
                return fields((InternalRow) v, (RowType) type);
            case CHAR:
            case VARCHAR:
            case TIMESTAMP_WITHOUT_TIME_ZONE:
                return v.toString();
            default:
                return v;
        }
    }

    private static List<Object> list(InternalArray a, DataType type) {
        InternalArray.ElementGetter getter = InternalArray.createElementGetter(type);
        List<Object> out = new ArrayList<>();
        for (int i = 0; i < a.size(); i++) {
            out.add(external(getter.getElementOrNull(a, i), type));
        }
        return out;
    }
}
