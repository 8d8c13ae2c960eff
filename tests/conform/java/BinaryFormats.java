/*
 * What stock Paimon makes of values: prints the golden files of tests/golden/binrow and writes those of
 * tests/golden/dv. One argument:
 *   rows    a row a line: types (JSON), values, serialized row, hash, buckets of 2, 7 and 16, bucket of 7 by
 *           hive and by mod, the partition path with legacy names and without. "-": not possible, or not
 *           the same twice. How a value is written is at text().
 *   texts   a line: type, text in hex, the value that Paimon reads from it as a partition's; "!": none
 *   dv DIR  makes DIR/<case>.v1 and .v2, and prints a line a vector: file, offset, length, cardinality, and
 *           the positions as ranges "a-b,c-d"
 */
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TimeZone;
import java.util.stream.Collectors;

import org.apache.paimon.CoreOptions;
import org.apache.paimon.bucket.BucketFunction;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.GenericArray;
import org.apache.paimon.data.GenericMap;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.data.serializer.InternalRowSerializer;
import org.apache.paimon.data.variant.GenericVariant;
import org.apache.paimon.deletionvectors.Bitmap64DeletionVector;
import org.apache.paimon.deletionvectors.BitmapDeletionVector;
import org.apache.paimon.deletionvectors.DeletionVector;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypeRoot;
import org.apache.paimon.types.DataTypes;
import org.apache.paimon.types.DecimalType;
import org.apache.paimon.types.RowType;
import org.apache.paimon.utils.InternalRowPartitionComputer;
import org.apache.paimon.utils.JsonSerdeUtil;
import org.apache.paimon.utils.PartitionPathUtils;
import org.apache.paimon.utils.SerializationUtils;
import org.apache.paimon.utils.TypeUtils;

public final class BinaryFormats {
    private static PrintStream out;

    public static void main(String[] args) throws Exception {
        out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err);
        TimeZone.setDefault(TimeZone.getTimeZone("UTC")); // what names of TIMESTAMP_LTZ depend on
        if (args[0].equals("rows")) {
            rows();
        } else if (args[0].equals("texts")) {
            texts();
        } else {
            vectors(Paths.get(args[1]));
        }
        out.flush();
    }

    // --- rows ---
    private static final Map<DataType, List<Object>> VALUES = new LinkedHashMap<>();

    private static void of(DataType type, Object... values) {
        List<Object> all = new ArrayList<>(Arrays.asList(values));
        all.add(null);
        VALUES.put(type, all);
    }

    private static Object[] strings(String... texts) {
        return Arrays.stream(texts).map(BinaryString::fromString).toArray();
    }

    private static Object[] decimals(int precision, int scale, String... texts) {
        return Arrays.stream(texts)
                .map(t -> Decimal.fromBigDecimal(new BigDecimal(t), precision, scale)).toArray();
    }

    private static byte[] bytes(int n, int from) {
        byte[] b = new byte[n];
        for (int i = 0; i < n; i++) {
            b[i] = (byte) (from + i * 37);
        }
        return b;
    }

    private static void values() {
        of(DataTypes.BOOLEAN(), true, false);
        of(DataTypes.TINYINT(), (byte) 0, (byte) 1, (byte) -1, Byte.MIN_VALUE, Byte.MAX_VALUE);
        of(DataTypes.SMALLINT(), (short) 300, (short) -1, Short.MIN_VALUE, Short.MAX_VALUE);
        of(DataTypes.INT(), 0, 1, 7, -1, Integer.MIN_VALUE, Integer.MAX_VALUE);
        of(DataTypes.BIGINT(), 0L, 1L, -1L, 1L << 40, Long.MIN_VALUE, Long.MAX_VALUE);
        of(DataTypes.FLOAT(), 0f, -0f, 1.5f, -2.25f, 0.1f, 1e10f, 1.5e-5f, 123456.79f, 9999999f, 1e7f, 0.001f, 9e-4f,
                Float.NaN, Float.intBitsToFloat(0x7fc12345), Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY,
                Float.MIN_VALUE, Float.MAX_VALUE);
        of(DataTypes.DOUBLE(), 0d, -0d, 1.5, -2.25, 0.1, 1e100, 1e-7, 123456789.125, 12345678.9, 3.0, 1e7, 0.001,
                Double.NaN, Double.longBitsToDouble(0xfff8000000000001L), Double.POSITIVE_INFINITY,
                Double.NEGATIVE_INFINITY, Double.MIN_VALUE, Double.MAX_VALUE, 4.9e-320, 1.0 / 3);
        of(DataTypes.DATE(), 0, 19786, -1, -719528, 2932896, 11016, 47540);
        of(DataTypes.TIME(0), 0, 1000, 86399000);
        of(DataTypes.TIME(3), 0, 36000000, 86399999, 45296070, 45296100);
        of(DataTypes.TIME(9), 1, 86399120);
        of(DataTypes.DECIMAL(5, 2), decimals(5, 2, "0", "1", "-1", "999.99", "-999.99", "12.30"));
        of(DataTypes.DECIMAL(10, 0), decimals(10, 0, "0", "120", "-9999999999"));
        of(DataTypes.DECIMAL(18, 18), decimals(18, 18, "0.1", "0.000000000000000001", "-0.999999999999999999"));
        of(DataTypes.DECIMAL(19, 3), decimals(19, 3, "0", "0.127", "0.128", "-0.128", "-0.129", "32.767", "-32.768", "1200",
                "9999999999999999.999"));
        of(DataTypes.DECIMAL(30, 5), decimals(30, 5, "-1", "0", "1e20", "-1e20", "123456789012345678901.5"));
        of(DataTypes.DECIMAL(38, 0), decimals(38, 0, "0", "99999999999999999999999999999999999999",
                "-99999999999999999999999999999999999999", "-18446744073709551616", "18446744073709551616",
                "12300000000000000000000000000000000000"));
        of(DataTypes.DECIMAL(38, 38), decimals(38, 38, "0.5", "-0.00000000000000000000000000000000000001"));
        of(DataTypes.TIMESTAMP(0), Timestamp.fromEpochMillis(0), Timestamp.fromEpochMillis(1704067200000L));
        of(DataTypes.TIMESTAMP(3), Timestamp.fromEpochMillis(1709549287123L), Timestamp.fromEpochMillis(-1),
                Timestamp.fromEpochMillis(1709549287120L), Timestamp.fromEpochMillis(-62135596800000L));
        of(DataTypes.TIMESTAMP(6), Timestamp.fromEpochMillis(1709549287123L, 456000), Timestamp.fromEpochMillis(-1, 999000),
                Timestamp.fromEpochMillis(1709549287123L, 456789), Timestamp.fromEpochMillis(1709549280000L),
                Timestamp.fromEpochMillis(253402300800000L));
        of(DataTypes.TIMESTAMP(9), Timestamp.fromEpochMillis(1709549287000L, 1), Timestamp.fromEpochMillis(0, 999999));
        of(DataTypes.TIMESTAMP_WITH_LOCAL_TIME_ZONE(3), Timestamp.fromEpochMillis(1709549287123L),
                Timestamp.fromEpochMillis(0));
        of(DataTypes.TIMESTAMP_WITH_LOCAL_TIME_ZONE(6), Timestamp.fromEpochMillis(1709549287123L, 456000),
                Timestamp.fromEpochMillis(-1, 0));
        of(DataTypes.CHAR(8), strings("", "1234567", "12345678"));
        of(DataTypes.VARCHAR(20), strings("hello world", "\u00e9\u4e2d"));
        StringBuilder escapes = new StringBuilder();
        for (char c = 1; c < 128; c++) {
            escapes.append(c);
        }
        of(DataTypes.STRING(), strings("", "a", " ", "\t \u2003\u3000", "\u00a0", "abcdefg", "abcdefgh", "dt=1/2", "a b%2F",
                "%", "\ud83d\ude00 smile", "__DEFAULT_PARTITION__", "..", escapes.toString(), "\u0000", "\u0080\u009f",
                String.join("", Collections.nCopies(30, "0123456789"))));
        of(DataTypes.BINARY(3), bytes(3, 0x41), bytes(3, -3));
        of(DataTypes.VARBINARY(100), bytes(0, 0), bytes(7, 1), bytes(8, 1), bytes(9, -1));
        of(DataTypes.BYTES(), "h\u00e9llo w\u00f6rld".getBytes(StandardCharsets.UTF_8), bytes(100, 5));
        of(DataTypes.VARIANT(), GenericVariant.fromJson("{\"a\":1,\"b\":[true,null]}"), GenericVariant.fromJson("1"));
        of(DataTypes.ARRAY(DataTypes.INT()), new GenericArray(new int[] {1, 2, 3}), new GenericArray(new int[0]));
        of(DataTypes.ARRAY(DataTypes.STRING()), new GenericArray(strings("x", "a longer text")));
        of(DataTypes.MAP(DataTypes.STRING(), DataTypes.BIGINT()),
                new GenericMap(Collections.singletonMap(BinaryString.fromString("key"), 5L)));
        of(DataTypes.MULTISET(DataTypes.INT()), new GenericMap(Collections.singletonMap(5, 2)));
        of(DataTypes.ROW(new DataField(0, "x", DataTypes.INT()), new DataField(1, "y", DataTypes.STRING())),
                GenericRow.of(1, BinaryString.fromString("nested, and long")), GenericRow.of(null, null));
    }

    private static void rows() {
        values();
        for (Map.Entry<DataType, List<Object>> e : VALUES.entrySet()) {
            for (Object value : e.getValue()) {
                row(Collections.singletonList(e.getKey()), Collections.singletonList(value));
            }
        }
        row(Collections.emptyList(), Collections.emptyList());
        row(Arrays.asList(DataTypes.INT(), DataTypes.STRING()), Arrays.asList(1, BinaryString.fromString("ab")));
        row(Arrays.asList(DataTypes.STRING(), DataTypes.BIGINT()),
                Arrays.asList(BinaryString.fromString("abcdefghijk"), 5L));
        row(Arrays.asList(DataTypes.INT(), DataTypes.INT()), Arrays.asList(null, 3));
        Random random = new Random(7);
        List<DataType> kinds = new ArrayList<>(VALUES.keySet());
        for (int i = 0; i < 120; i++) {
            int n = i < 100 ? 1 + random.nextInt(8) : 50 + random.nextInt(90);
            List<DataType> types = new ArrayList<>();
            List<Object> values = new ArrayList<>();
            for (int k = 0; k < n; k++) {
                // without the long texts, and mostly types that a partition may have
                DataType type = kinds.get(random.nextInt(kinds.size() - (i % 4 == 0 ? 0 : 6)));
                List<Object> all = VALUES.get(type);
                types.add(type);
                values.add(all.get(random.nextInt(5) == 0 ? all.size() - 1 : random.nextInt(Math.min(all.size(), 7))));
            }
            row(types, values);
        }
    }

    private static void row(List<DataType> types, List<Object> values) {
        List<DataField> fields = new ArrayList<>();
        for (int i = 0; i < types.size(); i++) {
            fields.add(new DataField(i, "k" + i, types.get(i)));
        }
        RowType type = new RowType(fields);
        BinaryRow row = new InternalRowSerializer(type).toBinaryRow(GenericRow.of(values.toArray())).copy();
        StringBuilder line = new StringBuilder();
        line.append(types.stream().map(JsonSerdeUtil::toFlatJson).collect(Collectors.joining(",", "[", "]")));
        line.append('\t');
        for (int i = 0; i < types.size(); i++) {
            line.append(i > 0 ? "|" : "").append(text(types.get(i), values.get(i)));
        }
        line.append('\t').append(hex(SerializationUtils.serializeBinaryRow(row)));
        line.append('\t').append(String.format("%08x", row.hashCode()));
        for (int buckets : new int[] {2, 7, 16}) {
            line.append('\t').append(bucket(CoreOptions.BucketFunctionType.DEFAULT, type, row, buckets));
        }
        line.append('\t').append(bucket(CoreOptions.BucketFunctionType.HIVE, type, row, 7));
        line.append('\t').append(bucket(CoreOptions.BucketFunctionType.MOD, type, row, 7));
        line.append('\t').append(path(type, row, true)).append('\t').append(path(type, row, false));
        out.println(line);
    }

    private static String bucket(CoreOptions.BucketFunctionType kind, RowType type, BinaryRow row, int buckets) {
        try {
            return Integer.toString(BucketFunction.create(kind, type).bucket(row, buckets));
        } catch (RuntimeException e) {
            return "-";
        }
    }

    private static String path(RowType type, BinaryRow row, boolean legacy) {
        for (DataField f : type.getFields()) {
            DataTypeRoot root = f.type().getTypeRoot();
            boolean binary = root == DataTypeRoot.BINARY || root == DataTypeRoot.VARBINARY;
            boolean nested = Arrays.asList(DataTypeRoot.ARRAY, DataTypeRoot.MAP, DataTypeRoot.MULTISET,
                    DataTypeRoot.ROW, DataTypeRoot.VARIANT).contains(root);
            if (nested || (binary && legacy)) { // the latter is the address of an object
                return "-";
            }
            if (binary && !row.isNullAt(f.id())) {
                byte[] bytes = row.getBinary(f.id());
                if (!Arrays.equals(bytes, new String(bytes, StandardCharsets.UTF_8).getBytes(StandardCharsets.UTF_8))) {
                    return "-";
                }
            }
        }
        String[] names = type.getFieldNames().toArray(new String[0]);
        try {
            return PartitionPathUtils.generatePartitionPath(
                    new InternalRowPartitionComputer("__DEFAULT_PARTITION__", type, names, legacy).generatePartValues(row));
        } catch (RuntimeException e) {
            return "!" + e.getClass().getSimpleName();
        }
    }

    private static String text(DataType type, Object v) {
        if (v == null) {
            return "~";
        } else if (v instanceof Boolean) {
            return (Boolean) v ? "t" : "f";
        } else if (v instanceof Float) {
            return String.format("x%08x", Float.floatToIntBits((Float) v));
        } else if (v instanceof Double) {
            return String.format("x%016x", Double.doubleToLongBits((Double) v));
        } else if (v instanceof Decimal) {
            return new BigInteger(((Decimal) v).toUnscaledBytes()).toString();
        } else if (v instanceof Timestamp) {
            return ((Timestamp) v).getMillisecond() + ":" + ((Timestamp) v).getNanoOfMillisecond();
        } else if (v instanceof BinaryString) {
            return "h" + hex(((BinaryString) v).toBytes());
        } else if (v instanceof byte[]) {
            return "h" + hex((byte[]) v);
        } else if (v instanceof GenericVariant) {
            return "v" + hex(((GenericVariant) v).value()) + "." + hex(((GenericVariant) v).metadata());
        } else if (v instanceof Number) {
            return v.toString();
        }
        return "n";
    }

    private static String hex(byte[] bytes) {
        StringBuilder b = new StringBuilder();
        for (byte x : bytes) {
            b.append(String.format("%02x", x));
        }
        return b.toString();
    }

    // --- texts ---
    private static void read(DataType type, String... texts) {
        for (String t : texts) {
            String value;
            try {
                value = text(type, TypeUtils.castFromString(t, type));
            } catch (RuntimeException e) {
                value = "!";
            }
            out.println(JsonSerdeUtil.toFlatJson(type) + "\t" + hex(t.getBytes(StandardCharsets.UTF_8)) + "\t" + value);
        }
    }

    private static void texts() {
        String[] ints = {"0", "1", "-1", "+5", "007", "127", "128", "-128", "-129", "32768", "2147483647", "2147483648",
            "-9223372036854775808", "9223372036854775808", "", " 1", "1.0", "x", "-", "1e2", "0x10"};
        read(DataTypes.BOOLEAN(), "true", "FALSE", "t", "F", "y", "no", "1", "0", "2", "", " true", "truex");
        read(DataTypes.TINYINT(), ints);
        read(DataTypes.SMALLINT(), ints);
        read(DataTypes.INT(), ints);
        read(DataTypes.BIGINT(), ints);
        read(DataTypes.FLOAT(), "1.5", "0.1", "-0.0", "NaN", "Infinity", "-Infinity", "1e10", "3.4028235E38", "1.4E-45", "x",
                "", " 2.5 ", "1.5f");
        read(DataTypes.DOUBLE(), "1.5", "0.1", "-0.0", "NaN", "Infinity", "-Infinity", "1e400", "4.9E-324", "x", "", "1d",
                "0x1p3", "1_0");
        read(DataTypes.DECIMAL(5, 2), "1", "1.5", "-1.555", "1.554", "1.545", "-0.005", "999.99", "999.994", "999.995",
                "1000", "1e2", "1E-1", "12e+1", "+3", ".5", "5.", "", "x", "1.2.3", " 1", "1e", "0e99999", "0.0000000001");
        read(DataTypes.DECIMAL(38, 0), "99999999999999999999999999999999999999", "100000000000000000000000000000000000000",
                "-99999999999999999999999999999999999999.4", "99999999999999999999999999999999999999.5", "1e37", "1e38");
        read(DataTypes.DATE(), "0", "19786", "2024-03-04", "2024-3-4", "2024-02-30", "2023-02-29", "2024-02-29", "2024",
                "2024-03", "99999", "99999999999", "2024-03-04 10:00:00", "-5", "", "x", "2024-13-01", "2024-04-31",
                "0000-01-01", "9999-12-31", "10000-01-01", "2024-03-04x", "2024--04");
        read(DataTypes.TIME(3), "0", "36000000", "10:00:00", "10:00", "23:59:59.999", "1:2:3", "10:00:00.1", "10:00:00.12",
                "10:00:00.1239", "10:00:00.1235", "", "x", "10:", "99999999999");
        read(DataTypes.TIMESTAMP(3), "2024-03-04 10:48:07.123", "2024-03-04 10:48:07", "2024-03-04", "2024-3-4 1:2:3",
                "2024-03-04 10:48:07.1239", "1709549287123", "2024-03-04T10:48:07.123", "", "x", "2024-02-30",
                "2024-03-04 24:00:00", "2024-03-04 10:60:00", "2024-03-04 10:48:07.", "1969-12-31 23:59:59.999");
        read(DataTypes.TIMESTAMP(6), "2024-03-04 10:48:07.123456", "1709549287123456", "2024-03-04 10:48:07.123456789",
                "2024-03-04 10:48:07.1234567891", "1969-12-31 23:59:59.999999", "9999-12-31 23:59:59.999999");
        read(DataTypes.TIMESTAMP(9), "2024-03-04 10:48:07.123456789", "1709549287123456789");
        read(DataTypes.TIMESTAMP(0), "2024-03-04 10:48:07.9", "1709549287");
        read(DataTypes.TIMESTAMP(2), "2024-03-04 10:48:07.987", "1709549287");
        read(DataTypes.TIMESTAMP_WITH_LOCAL_TIME_ZONE(6), "2024-03-04 10:48:07.123456", "1709549287123456");
        read(DataTypes.CHAR(3), "", "abc", "abcd", "\u4e2d\u4e2d\u4e2d");
        read(DataTypes.STRING(), "", "anything at all");
        read(DataTypes.BINARY(2), "ab", "abc");
        read(DataTypes.VARBINARY(2), "ab", "abc", "\u4e2d");
    }

    // --- deletion vectors ---
    private static void vectors(Path dir) throws IOException {
        Files.createDirectories(dir);
        file(dir, "empty");
        file(dir, "small", new long[][] {{3, 3}, {7, 7}, {11, 11}}, new long[][] {}, new long[][] {{0, 0}});
        file(dir, "dense", new long[][] {{0, 99999}}, new long[][] {{10, 20}, {65530, 65540}, {131071, 131071}},
                every(3, 60000), every(2, 20000), every(40, 400000));
        file(dir, "edge", new long[][] {{65535, 65536}, {1L << 31 - 1, 1L << 31 - 1}, {2147483646, 2147483646}},
                every(16, 65536), every(15, 61440), many(3), many(4), many(5));
        file64(dir, "high.v2", new long[][] {{5, 5}, {(1L << 32) - 1, (1L << 32) + 1}, {(3L << 32) + 7, (3L << 32) + 9}});
    }

    private static long[][] every(int step, int end) {
        long[][] ranges = new long[end / step][];
        for (int i = 0; i < ranges.length; i++) {
            ranges[i] = new long[] {(long) i * step, (long) i * step};
        }
        return ranges;
    }

    /** One run in each of n containers: from 4 on there is a table of offsets beside runs. */
    private static long[][] many(int n) {
        long[][] ranges = new long[n][];
        for (int i = 0; i < n; i++) {
            ranges[i] = new long[] {i * 65536L + 100, i * 65536L + 200};
        }
        return ranges;
    }

    private static void file(Path dir, String name, long[][]... vectors) throws IOException {
        write(dir, name + ".v1", false, vectors);
        write(dir, name + ".v2", true, vectors);
    }

    private static void file64(Path dir, String name, long[][]... vectors) throws IOException {
        write(dir, name, true, vectors);
    }

    private static void write(Path dir, String name, boolean wide, long[][][] vectors) throws IOException {
        try (OutputStream f = Files.newOutputStream(dir.resolve(name)); DataOutputStream o = new DataOutputStream(f)) {
            o.writeByte(1);
            for (long[][] ranges : vectors) {
                DeletionVector dv = wide ? new Bitmap64DeletionVector() : new BitmapDeletionVector();
                for (long[] r : ranges) {
                    for (long p = r[0]; p <= r[1]; p++) {
                        dv.delete(p);
                    }
                }
                int offset = o.size();
                int length = dv.serializeTo(o);
                out.println(name + "\t" + offset + "\t" + length + "\t" + dv.getCardinality() + "\t"
                        + (ranges.length > 100
                                ? "every " + ranges[1][0] + " below " + ranges.length * ranges[1][0]
                                : Arrays.stream(ranges).map(r -> r[0] + "-" + r[1]).collect(Collectors.joining(","))));
            }
        }
    }
}
