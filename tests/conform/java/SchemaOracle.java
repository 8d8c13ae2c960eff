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
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
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
    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err); // whatever a library prints must not look like an answer
        Path dir = Files.createTempDirectory("latch-oracle-");
        Options options = new Options();
        options.set("warehouse", dir.toString());
        Catalog catalog = CatalogFactory.createCatalog(CatalogContext.create(options));
        catalog.createDatabase("d", true);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        answers.println("ok\tready");
        int n = 0;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            try {
                String answer = "";
                if (line.equals("options")) {
                    answer = known();
                } else if (line.startsWith("read\t")) {
                    String[] words = line.split("\t", -1);
                    read(words[1], words[2]);
                } else {
                    Schema schema = JsonSerdeUtil.fromJson(line, Schema.class);
                    catalog.createTable(Identifier.create("d", "t" + n++), schema, false);
                }
                answers.println("ok\t" + answer);
            } catch (Throwable t) {
                answers.println("err" + causes(t));
            }
        }
        remove(dir);
        System.exit(0);
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

    private static String causes(Throwable t) {
        StringBuilder words = new StringBuilder();
        for (; t != null; t = t.getCause()) {
            String message = String.valueOf(t.getMessage()).replaceAll("[\t\n\r]", " ");
            words.append('\t').append(t.getClass().getName()).append('\t').append(message);
        }
        return words.toString();
    }

    private static void remove(Path dir) throws IOException {
        try (Stream<Path> all = Files.walk(dir)) {
            all.sorted(Comparator.reverseOrder()).forEach(p -> p.toFile().delete());
        }
    }
}
