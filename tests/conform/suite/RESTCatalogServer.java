package org.apache.paimon.rest;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.paimon.Snapshot;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.predicate.Transform;
import org.apache.paimon.rest.auth.AuthProvider;
import org.apache.paimon.rest.auth.BearTokenAuthProvider;
import org.apache.paimon.rest.auth.RESTAuthParameter;
import org.apache.paimon.rest.responses.ConfigResponse;
import org.opentest4j.TestAbortedException;

/**
 * Comes before Paimon's mock server of this name on the class path: a proxy in front of a real
 * daemon.
 *
 * <p>Requests and answers pass unchanged, but for what the tests expect of their server and is no
 * business of a daemon: the test's token, which stands for the daemon's; the catalog options of
 * each test in the answer of /v1/config; one commit that is applied and then answered with 500 when
 * {@link #commitSuccessThrowException} is set; and the mock's constants in place of audit values
 * (see {@link AuditValues}). The proxy also notes the headers that came in.
 *
 * <p>Methods that reach into the mock's memory abort the test: it is then neither passed nor
 * failed, and must be on the list of what cannot pass.
 */
public class RESTCatalogServer {
    /** Set by every test: the next commit that succeeds is answered as if it had not. */
    public static volatile boolean commitSuccessThrowException;

    // The client sets these itself, or they belong to one connection.
    private static final Set<String> NOT_FORWARDED = Set.of("connection", "content-length",
            "expect", "host", "http2-settings", "keep-alive", "transfer-encoding", "upgrade");
    private static final String COMMIT_PATH = "/v1/[^/]+/databases/[^/]+/tables/[^/]+/commit";
    private static final byte[] LOST_ANSWER =
            "{\"message\":\"Service Failure\",\"code\":500}".getBytes();

    public final ConfigResponse configResponse;
    public final String warehouse;

    private final String dataPath;
    private final AuthProvider auth;
    private final List<Map<String, String>> received = new CopyOnWriteArrayList<>();
    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final ExecutorService threads =
            Executors.newCachedThreadPool(RESTCatalogServer::thread);

    private Daemon daemon;
    private HttpServer proxy;

    public RESTCatalogServer(
            String dataPath, AuthProvider auth, ConfigResponse config, String warehouse) {
        this.dataPath = dataPath;
        this.auth = auth;
        this.configResponse = config;
        this.warehouse = warehouse;
    }

    private static Thread thread(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        return thread;
    }

    public void start() throws IOException {
        String root = dataPath.replaceFirst("^[a-z]+:(//)?", "");
        daemon = new Daemon(root, warehouse);
        proxy = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        proxy.setExecutor(threads);
        proxy.createContext("/", this::handle);
        proxy.start();
    }

    /** The header that the test's clients will send with a bearer token; null if they sign. */
    private String bearer() {
        RESTAuthParameter any = new RESTAuthParameter("/", Collections.emptyMap(), "GET", "");
        if (!(auth instanceof BearTokenAuthProvider)) {
            return null;
        }
        return auth.mergeAuthHeader(new HashMap<>(), any).get("Authorization");
    }

    public String getUrl() {
        return "http://localhost:" + proxy.getAddress().getPort() + "/";
    }

    public void shutdown() {
        proxy.stop(0);
        threads.shutdown();
        daemon.stop();
    }

    /** Some tests start two servers and stop one, some stop none. */
    public static void stopAll() {
        Daemon.stopAll();
    }

    private void handle(HttpExchange exchange) throws IOException {
        try (exchange) {
            Answer answer;
            try {
                answer = change(exchange, forward(exchange));
            } catch (Exception e) {
                e.printStackTrace();
                byte[] body =
                        RESTApi.toJson(Map.of("message", e.toString(), "code", 502)).getBytes();
                answer = new Answer(502, Map.of(), body);
            }
            answer.headers.forEach(
                    (name, values) -> exchange.getResponseHeaders().put(name, values));
            exchange.sendResponseHeaders(
                    answer.code, answer.body.length == 0 ? -1 : answer.body.length);
            exchange.getResponseBody().write(answer.body);
        }
    }

    private Answer forward(HttpExchange exchange) throws Exception {
        byte[] body = exchange.getRequestBody().readAllBytes();
        URI uri = URI.create(daemon.url() + exchange.getRequestURI());
        HttpRequest.Builder request = HttpRequest.newBuilder(uri).method(
                exchange.getRequestMethod(),
                body.length == 0 ? BodyPublishers.noBody() : BodyPublishers.ofByteArray(body));
        Map<String, String> seen = new HashMap<>();
        exchange.getRequestHeaders().forEach((name, values) -> {
            String key = name.toLowerCase(Locale.ROOT);
            seen.put(key, values.get(0));
            if (!NOT_FORWARDED.contains(key)) {
                values.forEach(value -> request.header(key, translate(value)));
            }
        });
        received.add(seen);
        HttpResponse<byte[]> response = client.send(request.build(), BodyHandlers.ofByteArray());
        Map<String, List<String>> headers = new HashMap<>(response.headers().map());
        headers.keySet().removeIf(NOT_FORWARDED::contains);
        return new Answer(response.statusCode(), headers, response.body());
    }

    /** The test's own token is, for the daemon, the one that it was started with. */
    private String translate(String header) {
        return header.equals(bearer()) ? "Bearer " + Daemon.TOKEN : header;
    }

    private Answer change(HttpExchange exchange, Answer answer) throws Exception {
        String path = exchange.getRequestURI().getRawPath();
        if (answer.code != 200) {
            return answer;
        }
        if (path.equals("/v1/config")) {
            return answer.with(addTestConfig(answer.body));
        }
        if (path.matches(COMMIT_PATH) && commitSuccessThrowException && succeeded(answer.body)) {
            commitSuccessThrowException = false;
            return new Answer(500, answer.headers, LOST_ANSWER);
        }
        return answer.with(AuditValues.replace(exchange.getRequestMethod(), path, answer.body));
    }

    private static boolean succeeded(byte[] body) throws IOException {
        return AuditValues.JSON.readTree(body).path("success").asBoolean();
    }

    /** The prefix is the daemon's to say, all else is the test's. */
    private byte[] addTestConfig(byte[] body) throws IOException {
        ConfigResponse real = AuditValues.JSON.readValue(body, ConfigResponse.class);
        Map<String, String> defaults = new HashMap<>(configResponse.getDefaults());
        defaults.remove(RESTCatalogInternalOptions.PREFIX.key());
        defaults.putAll(real.getDefaults());
        return RESTApi.toJson(new ConfigResponse(defaults, real.getOverrides())).getBytes();
    }

    public List<Map<String, String>> getReceivedHeaders() {
        return received;
    }

    public void clearReceivedHeaders() {
        received.clear();
    }

    private static final class Answer {
        final int code;
        final Map<String, List<String>> headers;
        final byte[] body;

        Answer(int code, Map<String, List<String>> headers, byte[] body) {
            this.code = code;
            this.headers = headers;
            this.body = body;
        }

        Answer with(byte[] other) {
            return new Answer(code, headers, other);
        }
    }

    // --- what only the mock can do ---------------------------------------------------------------

    private static RuntimeException inside(String method) {
        return new TestAbortedException("reaches into the mock: " + method);
    }

    public void setTableSnapshot(Identifier table, Snapshot snapshot, long recordCount,
            long fileSizeInBytes, long fileCount, long lastFileCreationTime) {
        throw inside("setTableSnapshot");
    }

    public void setDataToken(Identifier table, RESTToken token) {
        throw inside("setDataToken");
    }

    public void removeDataToken(Identifier table) {
        throw inside("removeDataToken");
    }

    public RESTToken getDataToken(Identifier table) {
        throw inside("getDataToken");
    }

    public void addNoPermissionDatabase(String database) {
        throw inside("addNoPermissionDatabase");
    }

    public void addNoPermissionTable(Identifier table) {
        throw inside("addNoPermissionTable");
    }

    public void addTableColumnAuth(Identifier table, List<String> columns) {
        throw inside("addTableColumnAuth");
    }

    public void setRowFilterAuth(Identifier table, List<Predicate> filters) {
        throw inside("setRowFilterAuth");
    }

    public void setColumnMaskingAuth(Identifier table, Map<String, Transform> masks) {
        throw inside("setColumnMaskingAuth");
    }
}
