/*
 * A stock Java client of Paimon's REST catalog for changes of names and schemas, over its standard input.
 *
 * One command a line, words separated by tabs; one answer a line: "ok TAB text" or "err TAB class TAB
 * message TAB class TAB message ..." from the exception down to its last cause. What has a JSON form in
 * Paimon's REST protocol is given in it, and is read by the client's own classes. `state` answers
 * with all that the client sees of databases, tables, tags, branches, views and functions, as one JSON
 * object. tests/conform/test_model.py drives it.
 */
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.catalog.PropertyChange;
import org.apache.paimon.function.Function;
import org.apache.paimon.function.FunctionImpl;
import org.apache.paimon.rest.requests.AlterFunctionRequest;
import org.apache.paimon.rest.requests.AlterTableRequest;
import org.apache.paimon.rest.requests.AlterViewRequest;
import org.apache.paimon.rest.requests.CreateFunctionRequest;
import org.apache.paimon.rest.requests.CreateTableRequest;
import org.apache.paimon.rest.requests.CreateViewRequest;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.Instant;
import org.apache.paimon.utils.JsonSerdeUtil;
import org.apache.paimon.view.View;
import org.apache.paimon.view.ViewImpl;
import org.apache.paimon.view.ViewSchema;

public final class LatchDdl {
    private static Catalog catalog;

    public static void main(String[] args) throws Exception {
        new CommandLoop().serve(LatchDdl::run);
        System.exit(0);
    }

    private static <T> T json(String text, Class<T> as) {
        return JsonSerdeUtil.fromJson(text, as);
    }

    @SuppressWarnings("unchecked")
    private static Map<String, String> map(String text) {
        return json(text, Map.class);
    }

    private static String run(String[] a) throws Exception {
        switch (a[0]) {
            case "open":
                open(a[1], a[2], a[3]);
                return "";
            case "state":
                return JsonSerdeUtil.toFlatJson(state());
            case "create_database":
                catalog.createDatabase(a[1], false, map(a[2]));
                return "";
            case "drop_database":
                catalog.dropDatabase(a[1], false, true);
                return "";
            case "alter_database":
                alterDatabase(a[1], json(a[2], List.class), map(a[3]));
                return "";
            default:
                runOn(a, Identifier.create(a[1], a[2]));
                return "";
        }
    }

    private static void open(String uri, String warehouse, String token) throws Exception {
        if (catalog != null) {
            catalog.close();
        }
        catalog = CatalogFactory.createCatalog(CatalogContext.create(RestOptions.of(uri, warehouse, token)));
    }

    private static void alterDatabase(String db, List<?> removals, Map<String, String> updates) throws Exception {
        List<PropertyChange> changes = new ArrayList<>();
        removals.forEach(k -> changes.add(PropertyChange.removeProperty((String) k)));
        updates.forEach((k, v) -> changes.add(PropertyChange.setProperty(k, v)));
        catalog.alterDatabase(db, changes, false);
    }

    private static void runOn(String[] a, Identifier id) throws Exception {
        switch (a[0]) {
            case "create_table":
                catalog.createTable(id, json(a[3], CreateTableRequest.class).getSchema(), false);
                break;
            case "alter_table":
                catalog.alterTable(id, json(a[3], AlterTableRequest.class).getChanges(), false);
                break;
            case "rename_table":
                catalog.renameTable(id, Identifier.create(a[3], a[4]), false);
                break;
            case "drop_table":
                catalog.dropTable(id, false);
                break;
            case "create_view":
                createView(id, json(a[3], CreateViewRequest.class).getSchema());
                break;
            case "alter_view":
                catalog.alterView(id, json(a[3], AlterViewRequest.class).viewChanges(), false);
                break;
            case "rename_view":
                catalog.renameView(id, Identifier.create(a[3], a[4]), false);
                break;
            case "drop_view":
                catalog.dropView(id, false);
                break;
            case "create_function":
                createFunction(id, json(a[3], CreateFunctionRequest.class));
                break;
            case "alter_function":
                catalog.alterFunction(id, json(a[3], AlterFunctionRequest.class).changes(), false);
                break;
            case "drop_function":
                catalog.dropFunction(id, false);
                break;
            default:
                runOnVersions(a, id);
        }
    }

    private static void runOnVersions(String[] a, Identifier id) throws Exception {
        String absent = a[a.length - 1].isEmpty() ? null : a[a.length - 1];
        switch (a[0]) {
            case "create_tag":
                catalog.createTag(id, a[3], absent == null ? null : Long.valueOf(absent), null, false);
                break;
            case "drop_tag":
                catalog.deleteTag(id, a[3]);
                break;
            case "create_branch":
                catalog.createBranch(id, a[3], absent);
                break;
            case "drop_branch":
                catalog.dropBranch(id, a[3]);
                break;
            case "rename_branch":
                catalog.renameBranch(id, a[3], a[4]);
                break;
            case "forward":
                catalog.fastForward(id, a[3]);
                break;
            case "rollback":
                catalog.rollbackTo(id, Instant.snapshot(Long.parseLong(a[3])));
                break;
            case "rollback_tag":
                catalog.rollbackTo(id, Instant.tag(a[3]));
                break;
            case "rollback_schema":
                catalog.rollbackSchema(id, Long.parseLong(a[3]));
                break;
            default:
                throw new IllegalArgumentException("unknown command " + a[0]);
        }
    }

    private static void createView(Identifier id, ViewSchema s) throws Exception {
        catalog.createView(id, new ViewImpl(id, s.fields(), s.query(), s.dialects(), s.comment(), s.options()), false);
    }

    private static void createFunction(Identifier id, CreateFunctionRequest r) throws Exception {
        catalog.createFunction(id, new FunctionImpl(id, r.inputParams(), r.returnParams(), r.isDeterministic(),
                r.definitions(), r.comment(), r.options()), false);
    }

    private static Map<String, Object> state() throws Exception {
        Map<String, Object> out = new TreeMap<>();
        for (String db : catalog.listDatabases()) {
            Map<String, Object> one = new TreeMap<>();
            one.put("options", catalog.getDatabase(db).options());
            one.put("tables", tables(db));
            one.put("views", views(db));
            one.put("functions", functions(db));
            out.put(db, one);
        }
        return out;
    }

    private static Map<String, Object> tables(String db) throws Exception {
        Map<String, Object> out = new TreeMap<>();
        for (String name : catalog.listTables(db)) {
            Identifier id = Identifier.create(db, name);
            Map<String, Object> one = new TreeMap<>();
            one.put("schema", json(JsonSerdeUtil.toFlatJson(((FileStoreTable) catalog.getTable(id)).schema()),
                    Map.class));
            one.put("head", catalog.loadSnapshot(id).map(s -> s.snapshot().id()).orElse(0L));
            one.put("tags", tags(id));
            one.put("branches", catalog.listBranches(id));
            out.put(name, one);
        }
        return out;
    }

    private static Map<String, Object> tags(Identifier id) throws Exception {
        Map<String, Object> out = new TreeMap<>();
        for (String tag : catalog.listTagsPaged(id, null, null, null).getElements()) {
            out.put(tag, catalog.getTag(id, tag).snapshot().id());
        }
        return out;
    }

    private static Map<String, Object> views(String db) throws Exception {
        Map<String, Object> out = new TreeMap<>();
        for (String name : catalog.listViews(db)) {
            View v = catalog.getView(Identifier.create(db, name));
            Map<String, Object> one = new HashMap<>();
            one.put("query", v.query());
            one.put("dialects", v.dialects());
            one.put("options", v.options());
            one.put("comment", v.comment().orElse(null));
            out.put(name, one);
        }
        return out;
    }

    private static Map<String, Object> functions(String db) throws Exception {
        Map<String, Object> out = new TreeMap<>();
        for (String name : catalog.listFunctions(db)) {
            Function f = catalog.getFunction(Identifier.create(db, name));
            Map<String, Object> one = new HashMap<>();
            one.put("definitions", new ArrayList<>(f.definitions().keySet()));
            one.put("options", f.options());
            one.put("comment", f.comment());
            one.put("deterministic", f.isDeterministic());
            out.put(name, one);
        }
        return out;
    }
}
