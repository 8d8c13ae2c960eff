/*
 * What a stock Paimon says of schemas: creates each as a table in a file system catalog.
 *
 * One request a line; one answer a line, as LatchClient answers. A request is one of
 *   options            all table options that this Paimon knows: KEY=TYPE=FORMER,..=VALUE,..=DEFAULT
 *                      separated by ';'
 *   read TAB KEY TAB VALUE   does the option take this value?
 *   the JSON of a schema     is it one?
 * What is no is answered with the classes and messages of the exceptions.
 */
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.Map;
import java.util.stream.Stream;

import org.apache.paimon.CoreOptions;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.options.ConfigOption;
import org.apache.paimon.options.FallbackKey;
import org.apache.paimon.options.MemorySize;
import org.apache.paimon.options.Options;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.utils.JsonSerdeUtil;

public final class SchemaOracle {
    private static Catalog catalog;
    private static int tables;

    public static void main(String[] args) throws Exception {
        CommandLoop loop = new CommandLoop();
        Path dir = Files.createTempDirectory("latch-oracle-");
        Options options = new Options();
        options.set("warehouse", dir.toString());
        catalog = CatalogFactory.createCatalog(CatalogContext.create(options));
        catalog.createDatabase("d", true);
        loop.serve(SchemaOracle::run);
        remove(dir);
        System.exit(0);
    }

    private static String run(String[] words) throws Exception {
        if (words[0].equals("options")) {
            return known();
        }
        if (words[0].equals("read")) {
            read(words[1], words[2]);
        } else {
            Schema schema = JsonSerdeUtil.fromJson(words[0], Schema.class);
            catalog.createTable(Identifier.create("d", "t" + tables++), schema, false);
        }
        return "";
    }

    private static String known() throws ReflectiveOperationException {
        StringBuilder all = new StringBuilder();
        java.lang.reflect.Method type = ConfigOption.class.getDeclaredMethod("getClazz");
        type.setAccessible(true);
        for (ConfigOption<?> o : CoreOptions.getOptions()) {
            Class<?> c = (Class<?>) type.invoke(o);
            all.append(all.length() > 0 ? ";" : "").append(o.key()).append('=');
            all.append(c.isEnum() ? "Enum" : c.getSimpleName()).append('=');
            for (FallbackKey k : o.fallbackKeys()) {
                all.append(k.getKey()).append(',');
            }
            all.append('=');
            if (c.isEnum()) {
                for (Object value : c.getEnumConstants()) {
                    all.append(value).append(',');
                }
            }
            all.append('=').append(o.hasDefaultValue() ? text(o.defaultValue()) : "");
        }
        return all.toString();
    }

    private static String text(Object value) {
        if (value instanceof MemorySize) {
            return ((MemorySize) value).getBytes() + " b";
        }
        if (value instanceof Duration) {
            return ((Duration) value).toMillis() + " ms";
        }
        return value instanceof Map ? "" : value.toString();
    }

    private static void read(String key, String value) {
        Options options = new Options();
        options.set(key, value);
        for (ConfigOption<?> o : CoreOptions.getOptions()) {
            boolean names = o.key().equals(key);
            for (FallbackKey k : o.fallbackKeys()) {
                names |= k.getKey().equals(key);
            }
            if (names) {
                options.get(o);
                return;
            }
        }
        throw new IllegalStateException("no option " + key);
    }

    private static void remove(Path dir) throws IOException {
        try (Stream<Path> all = Files.walk(dir)) {
            all.sorted(Comparator.reverseOrder()).forEach(p -> p.toFile().delete());
        }
    }
}
