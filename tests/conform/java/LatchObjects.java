/*
 * Views, functions and names in all databases with the stock Java client: a program that checks by itself.
 *
 *   java LatchObjects URI WAREHOUSE TOKEN STEM
 *
 * One line a check that is done: "done NAME". The first that fails ends it with a stack trace and exit
 * code 1. STEM begins the names of its databases. tests/conform/test_java_objects.py runs it.
 */
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;

import org.apache.paimon.PagedList;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.function.Function;
import org.apache.paimon.function.FunctionChange;
import org.apache.paimon.function.FunctionDefinition;
import org.apache.paimon.function.FunctionImpl;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataTypes;
import org.apache.paimon.view.View;
import org.apache.paimon.view.ViewChange;
import org.apache.paimon.view.ViewImpl;

public final class LatchObjects {
    private static Catalog catalog;
    private static String db, other;

    public static void main(String[] a) throws Exception {
        catalog = CatalogFactory.createCatalog(CatalogContext.create(RestOptions.of(a[0], a[1], a[2])));
        db = a[3] + " 1";
        other = a[3] + " 2";
        catalog.createDatabase(db, false);
        catalog.createDatabase(other, false);
        views();
        viewLists();
        functions();
        functionLists();
        System.exit(0);
    }

    private static void done(String what) {
        System.out.println("done " + what);
    }

    private static void same(Object got, Object wanted) {
        if (!Objects.equals(got, wanted)) {
            throw new AssertionError("got " + got + ", wanted " + wanted);
        }
    }

    /* The client puts the audit members into the options of what it read. */
    private static Map<String, String> given(Map<String, String> options) {
        Map<String, String> m = new HashMap<>(options);
        m.keySet().removeAll(Arrays.asList("owner", "createdAt", "createdBy", "updatedAt", "updatedBy"));
        return m;
    }

    private static String text(View v) {
        return v.fullName() + " " + v.rowType().getFields() + " " + v.query() + " " + v.dialects() + " "
                + v.comment() + " " + given(v.options());
    }

    private static void fails(Class<? extends Exception> kind, Callable<Object> call) {
        try {
            call.call();
        } catch (Exception e) {
            if (kind.isInstance(e)) {
                return;
            }
            throw new AssertionError("wanted " + kind, e);
        }
        throw new AssertionError("wanted " + kind);
    }

    private static Map<String, String> map(String... pairs) {
        Map<String, String> m = new HashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            m.put(pairs[i], pairs[i + 1]);
        }
        return m;
    }

    private static View view(Identifier id, String comment) {
        List<DataField> fields = Arrays.asList(
                new DataField(0, "a", DataTypes.INT().notNull()),
                new DataField(1, "b", DataTypes.ARRAY(DataTypes.STRING()), "of letters"),
                new DataField(2, "c", DataTypes.ROW(DataTypes.FIELD(3, "x", DataTypes.DECIMAL(10, 2)))));
        return new ViewImpl(id, fields, "SELECT 1", map("spark", "SELECT 2"), comment, map("k", "v"));
    }

    private static void views() throws Exception {
        Identifier id = Identifier.create(db, "v.1"), moved = Identifier.create(other, "moved");
        fails(Catalog.ViewNotExistException.class, () -> catalog.getView(id));
        fails(Catalog.DatabaseNotExistException.class, () -> {
            catalog.createView(Identifier.create("no such", "v"), view(id, null), false);
            return null;
        });
        for (String comment : new String[] {null, "", "with words"}) {
            catalog.createView(id, view(id, comment), false);
            same(text(catalog.getView(id)), text(view(id, comment)));
            same(catalog.getView(id).rowType(), view(id, comment).rowType());
            catalog.dropView(id, false);
        }
        catalog.createView(id, view(id, "c"), false);
        catalog.createView(id, view(id, "other"), true);
        fails(Catalog.ViewAlreadyExistException.class, () -> {
            catalog.createView(id, view(id, "c"), false);
            return null;
        });
        done("view");
        catalog.alterView(id, Arrays.asList(ViewChange.setOption("o", "1"), ViewChange.removeOption("k"),
                ViewChange.updateComment("new"), ViewChange.addDialect("flink", "f"),
                ViewChange.updateDialect("spark", "s")), false);
        View v = catalog.getView(id);
        same(given(v.options()), map("o", "1"));
        same(v.comment().get(), "new");
        same(v.dialects(), map("flink", "f", "spark", "s"));
        catalog.alterView(id, Arrays.asList(ViewChange.updateComment(null), ViewChange.dropDialect("flink")), false);
        same(catalog.getView(id).comment().isPresent(), false);
        fails(Catalog.DialectAlreadyExistException.class, () -> {
            catalog.alterView(id, Arrays.asList(ViewChange.addDialect("spark", "x")), false);
            return null;
        });
        fails(Catalog.DialectNotExistException.class, () -> {
            catalog.alterView(id, Arrays.asList(ViewChange.dropDialect("flink")), false);
            return null;
        });
        catalog.alterView(moved, Arrays.asList(ViewChange.dropDialect("flink")), true);
        done("alter view");
        catalog.renameView(id, moved, false);
        same(catalog.getView(moved).query(), "SELECT 1");
        fails(Catalog.ViewNotExistException.class, () -> {
            catalog.renameView(id, moved, false);
            return null;
        });
        catalog.createView(id, view(id, "c"), false);
        fails(Catalog.ViewAlreadyExistException.class, () -> {
            catalog.renameView(id, moved, false);
            return null;
        });
        catalog.dropView(id, false);
        catalog.dropView(moved, false);
        catalog.dropView(moved, true);
        fails(Catalog.ViewNotExistException.class, () -> {
            catalog.dropView(moved, false);
            return null;
        });
        done("rename and drop view");
    }

    private static void viewLists() throws Exception {
        for (String name : new String[] {"x", "y", "b.c"}) {
            for (String d : new String[] {db, other}) {
                Identifier id = Identifier.create(d, name);
                catalog.createView(id, view(id, name), false);
            }
        }
        same(catalog.listViews(db), Arrays.asList("b.c", "x", "y"));
        PagedList<String> page = catalog.listViewsPaged(db, 2, "b.c", null);
        same(page.getElements(), Arrays.asList("x", "y"));
        same(page.getNextPageToken(), "y");
        PagedList<View> details = catalog.listViewDetailsPaged(db, null, "b.c", "x%");
        same(details.getElements().size(), 1);
        same(text(details.getElements().get(0)), text(view(Identifier.create(db, "x"), "x")));
        same(details.getNextPageToken(), null);
        String both = db.substring(0, db.length() - 1) + "%";
        String token = null;
        StringBuilder all = new StringBuilder();
        do {
            PagedList<Identifier> p = catalog.listViewsPagedGlobally(both, null, 4, token);
            p.getElements().forEach(i -> all.append(i.getDatabaseName().endsWith("1") ? "1/" : "2/")
                    .append(i.getObjectName()).append(' '));
            token = p.getNextPageToken();
        } while (token != null);
        same(all.toString(), "1/b.c 1/x 1/y 2/b.c 2/x 2/y ");
        same(catalog.listViewsPagedGlobally(both, "x", null, db + ".x").getElements(),
                Collections.singletonList(Identifier.create(other, "x")));
        same(catalog.listTablesPagedGlobally(both, null, null, null).getElements(), Collections.emptyList());
        fails(RuntimeException.class, () -> catalog.listViewsPagedGlobally(null, "%x", null, null));
        fails(Catalog.DatabaseNotExistException.class, () -> catalog.listViews("no such"));
        done("lists of views");
    }

    private static Function function(Identifier id, boolean full) {
        Map<String, FunctionDefinition> definitions = new HashMap<>();
        if (full) {
            definitions.put("flink", FunctionDefinition.file(
                    Collections.singletonList(new FunctionDefinition.FunctionFileResource("jar", "/a.jar")),
                    "java", "C", "eval"));
            definitions.put("spark", FunctionDefinition.lambda("(Double l) -> l", "java"));
        }
        definitions.put("trino", FunctionDefinition.sql("l * \"w\""));
        return new FunctionImpl(id,
                full ? Arrays.asList(new DataField(0, "l", DataTypes.DOUBLE(), "long"),
                        new DataField(1, "w", DataTypes.DOUBLE())) : null,
                full ? Arrays.asList(new DataField(0, "area", DataTypes.DOUBLE())) : null,
                full, definitions, full ? "comment" : null, full ? map("k", "v") : map());
    }

    private static void functions() throws Exception {
        Identifier id = Identifier.create(db, "function.na_me-01"), none = Identifier.create(db, "none");
        for (boolean full : new boolean[] {true, false}) {
            catalog.createFunction(id, function(id, full), false);
            same(catalog.getFunction(id), function(id, full));
            fails(Catalog.FunctionAlreadyExistException.class, () -> {
                catalog.createFunction(id, function(id, full), false);
                return null;
            });
            catalog.dropFunction(id, false);
            fails(Catalog.FunctionNotExistException.class, () -> catalog.getFunction(id));
            fails(Catalog.FunctionNotExistException.class, () -> {
                catalog.dropFunction(id, false);
                return null;
            });
        }
        done("function");
        catalog.createFunction(id, function(id, true), false);
        FunctionDefinition sql = FunctionDefinition.sql("x");
        catalog.alterFunction(id, Arrays.asList(FunctionChange.setOption("o", "1"),
                FunctionChange.removeOption("k"), FunctionChange.updateComment("new"),
                FunctionChange.addDefinition("new", sql), FunctionChange.updateDefinition("spark", sql),
                FunctionChange.dropDefinition("flink")), false);
        Function f = catalog.getFunction(id);
        same(f.options(), map("o", "1"));
        same(f.comment(), "new");
        same(f.definition("new"), sql);
        same(f.definition("spark"), sql);
        same(f.definition("flink"), null);
        fails(Catalog.DefinitionAlreadyExistException.class, () -> {
            catalog.alterFunction(id, Arrays.asList(FunctionChange.addDefinition("new", sql)), false);
            return null;
        });
        fails(Catalog.DefinitionNotExistException.class, () -> {
            catalog.alterFunction(id, Arrays.asList(FunctionChange.dropDefinition("flink")), false);
            return null;
        });
        fails(Catalog.FunctionNotExistException.class, () -> {
            catalog.alterFunction(none, Arrays.asList(FunctionChange.dropDefinition("flink")), false);
            return null;
        });
        catalog.dropFunction(id, false);
        done("alter function");
    }

    private static void functionLists() throws Exception {
        for (String name : new String[] {"list_function", "function", "f.1"}) {
            for (String d : new String[] {db, other}) {
                Identifier id = Identifier.create(d, name);
                catalog.createFunction(id, function(id, true), false);
            }
        }
        same(catalog.listFunctions(db), Arrays.asList("f.1", "function", "list_function"));
        same(catalog.listFunctionsPaged(db, 1, "function", null).getElements(), Arrays.asList("list_function"));
        List<Function> details = catalog.listFunctionDetailsPaged(other, 4, null, "f%").getElements();
        same(details.stream().map(Function::name).collect(Collectors.toList()), Arrays.asList("f.1", "function"));
        same(details.get(0), function(Identifier.create(other, "f.1"), true));
        String both = db.substring(0, db.length() - 1) + "%";
        same(catalog.listFunctionsPagedGlobally(both, "func%", null, null).getElements(),
                Arrays.asList(Identifier.create(db, "function"), Identifier.create(other, "function")));
        same(catalog.listFunctionsPagedGlobally(both, null, 1, other + ".function").getElements(),
                Arrays.asList(Identifier.create(other, "list_function")));
        done("lists of functions");
    }
}
