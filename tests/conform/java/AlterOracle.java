/*
 * What stock Paimon makes of a schema and changes of it, for tests/conform/test_alter_java.py.
 *
 * One case a line: SCHEMA TAB CHANGES TAB SNAPSHOTS (JSON of org.apache.paimon.schema.Schema, JSON of
 * an array of SchemaChange, true or false); one answer a line: "ok TAB JSON of the TableSchema" or
 * "err TAB class TAB message ..." as LatchClient.java writes it; class Invalid: only the validation of the
 * whole schema refused.
 */
import java.util.List;

import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.rest.RESTApi;
import org.apache.paimon.rest.requests.AlterTableRequest;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.schema.SchemaChange;
import org.apache.paimon.schema.SchemaManager;
import org.apache.paimon.schema.SchemaValidation;
import org.apache.paimon.schema.TableSchema;
import org.apache.paimon.utils.LazyField;

public final class AlterOracle {
    public static void main(String[] args) throws Exception {
        new CommandLoop().serve(a -> altered(a[0], a[1], Boolean.parseBoolean(a[2])));
        System.exit(0);
    }

    private static String altered(String schema, String changes, boolean snapshots) throws Exception {
        TableSchema old = TableSchema.create(0, RESTApi.fromJson(schema, Schema.class));
        List<SchemaChange> list =
                RESTApi.fromJson("{\"changes\":" + changes + "}", AlterTableRequest.class).getChanges();
        TableSchema made = SchemaManager.generateTableSchema(
                old, list, new LazyField<>(() -> snapshots), new LazyField<>(() -> Identifier.create("d", "t")));
        try {
            SchemaValidation.validateTableSchema(made);
        } catch (Throwable t) {
            throw new Invalid(t);
        }
        return RESTApi.toJson(made);
    }

    /** The changes may be made, but the schema as a whole is refused. */
    private static final class Invalid extends Exception {
        Invalid(Throwable cause) {
            super(cause);
        }
    }
}
