package org.apache.paimon.rest;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One real `latch serve` with an empty catalog of its own.
 *
 * <p>The daemon is the child of keeper.sh, which ends it when this JVM ends, in whatever way; the
 * shell's exit code is the daemon's.
 *
 * <p>Settings: system properties latch.bin, latch.keeper, and latch.dir for data directories and
 * logs. A log is named after the test that runs.
 */
final class Daemon {
    private static final int READY_TIMEOUT_S = 30;
    private static final int STOP_TIMEOUT_S = 40;

    /** What every daemon takes; the tests' own tokens are shorter than it allows. */
    static final String TOKEN = "token-of-paimons-suite";

    private static final Set<Daemon> RUNNING = ConcurrentHashMap.newKeySet();
    private static final AtomicInteger COUNT = new AtomicInteger();

    private static volatile String test = "none";

    private final Path dir;
    private final Process process;
    private final String url;

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(Daemon::stopAll));
    }

    /** Names what the logs of the next daemons are called. */
    static void startOfTest(String name) {
        test = name;
    }

    Daemon(String root, String warehouse) throws IOException {
        Path base = Paths.get(System.getProperty("latch.dir"));
        String name = test.replaceAll("[^A-Za-z0-9.#]", "_") + "-" + COUNT.incrementAndGet();
        dir = Files.createDirectories(base.resolve("data").resolve(name));
        Path ready = dir.resolve("ready");
        List<String> command = List.of(System.getProperty("latch.keeper"),
                System.getProperty("latch.bin"), "serve", "--data-dir",
                dir.resolve("data").toString(), "--listen", "127.0.0.1:0", "--ready-file",
                ready.toString());
        ProcessBuilder builder = new ProcessBuilder(command).directory(dir.toFile());
        builder.environment().keySet().removeIf(key -> key.startsWith("LATCH_"));
        builder.environment().put("LATCH_BOOTSTRAP_TOKEN", TOKEN);
        builder.environment().put("LATCH_DEFAULT_WAREHOUSE_NAME", warehouse);
        builder.environment().put("LATCH_DEFAULT_WAREHOUSE_ROOT", root);
        // External tables of the suite lie in temporary directories beside the warehouse.
        builder.environment().put(
                "LATCH_WAREHOUSE_EXTERNAL_ROOTS", System.getProperty("java.io.tmpdir"));
        File log = base.resolve(name + ".log").toFile();
        builder.redirectOutput(Redirect.appendTo(log)).redirectErrorStream(true);
        process = builder.start();
        RUNNING.add(this);
        url = waitReady(ready, log);
    }

    private String waitReady(Path ready, File log) throws IOException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(READY_TIMEOUT_S);
        while (!Files.exists(ready)) {
            if (!process.isAlive() || System.nanoTime() > deadline) {
                stop();
                throw new IOException("latch did not start, see " + log);
            }
            pause();
        }
        return Files.readString(ready).trim().replaceFirst("/$", "");
    }

    private static void pause() {
        try {
            Thread.sleep(2);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while latch started", e);
        }
    }

    /** Without a slash at the end. */
    String url() {
        return url;
    }

    /**
     * Ends it as a service manager would, and says on the report how that went if it went wrong.
     */
    void stop() {
        if (!RUNNING.remove(this)) {
            return;
        }
        try {
            process.getOutputStream().close();
            boolean ended = process.waitFor(STOP_TIMEOUT_S, TimeUnit.SECONDS);
            if (!ended) {
                process.descendants().forEach(ProcessHandle::destroyForcibly);
                process.destroyForcibly();
            }
            if (!ended || process.exitValue() != 0) {
                String end = ended ? "exit code " + process.exitValue() : "it hung";
                SuiteRunner.report("daemon", dir.getFileName().toString(), "failed", 0, end);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            Thread.currentThread().interrupt();
        }
    }

    static void stopAll() {
        RUNNING.forEach(Daemon::stop);
    }
}
