/*
 * Rows as JSON lists, and back. Bytes are hex, ROWs and ARRAYs lists, MAPs objects; decimals, dates and
 * timestamps are Java's texts of them, a TIME its milliseconds.
 */
import java.math.BigDecimal;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.GenericArray;
import org.apache.paimon.data.GenericMap;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalArray;
import org.apache.paimon.data.InternalMap;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.types.ArrayType;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DecimalType;
import org.apache.paimon.types.MapType;
import org.apache.paimon.types.RowType;

final class TypedRows {
    private TypedRows() {
    }

    // --- from JSON to Paimon's own values ----------------------------------------------------------
    static GenericRow row(List<?> values, RowType type) {
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
            case BINARY:
            case VARBINARY:
                return bytes((String) v);
            case DATE:
                return (int) LocalDate.parse((String) v).toEpochDay();
            case TIME_WITHOUT_TIME_ZONE:
                return ((Number) v).intValue();
            case TIMESTAMP_WITHOUT_TIME_ZONE:
            case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
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
    static List<Object> fields(InternalRow r, RowType type) {
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
            case BINARY:
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
            case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
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
