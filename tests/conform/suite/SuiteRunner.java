package org.apache.paimon.rest;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.io.IOException;
import java.io.PrintStream;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.platform.engine.FilterResult;
import org.junit.platform.engine.TestDescriptor;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.UniqueId;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.PostDiscoveryFilter;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * SuiteRunner CLASS: runs the tests of a class and reports on standard output, a line a test:
 * {@code TEST <tab> class <tab> name <tab> outcome <tab> milliseconds <tab> message}, then {@code
 * END}. What the tests themselves print goes to standard error.
 *
 * <p>A test's name is its method's, and {@code method#n} for the n-th run of a parameterized one.
 * The JVM ends when standard input does, so that nothing outlives the script that started it.
 */
public final class SuiteRunner implements TestExecutionListener {
    private static final PrintStream REPORT = System.out;

    private final Map<String, Long> started = new ConcurrentHashMap<>();

    public static void main(String[] args) throws Exception {
        System.setOut(System.err);
        endWithInput();
        Class<?> suite = Class.forName(args[0]);
        LauncherDiscoveryRequest request =
                LauncherDiscoveryRequestBuilder.request()
                        .selectors(selectClass(suite))
                        .configurationParameter(
                                "junit.jupiter.extensions.autodetection.enabled", "true")
                        .filters((PostDiscoveryFilter) SuiteRunner::wanted)
                        .build();
        Launcher launcher = LauncherFactory.create();
        TestPlan plan = launcher.discover(request);
        launcher.execute(plan, new SuiteRunner());
        REPORT.println("END");
        System.exit(0);
    }

    /** Property suite.only: parts of names of tests, separated by commas. */
    private static FilterResult wanted(TestDescriptor test) {
        String only = System.getProperty("suite.only", "");
        String name = test.getDisplayName() + " " + test.getUniqueId().getLastSegment().getValue();
        boolean in = only.isEmpty() || Arrays.stream(only.split(",")).anyMatch(name::contains);
        return FilterResult.includedIf(in || !test.isTest() && !test.mayRegisterTests());
    }

    private static void endWithInput() {
        Thread thread = new Thread(() -> {
            try {
                while (System.in.read() >= 0) {
                    // nothing is ever sent, only the end counts
                }
            } catch (IOException e) {
                // as good as the end
            }
            System.exit(3);
        });
        thread.setDaemon(true);
        thread.start();
    }

    static synchronized void report(
            String suite, String name, String outcome, long millis, String message) {
        String line = message == null ? "" : message.replaceAll("\\s+", " ").trim();
        REPORT.println(String.join("\t", "TEST", suite, name, outcome, "" + millis, line));
        REPORT.flush();
    }

    @Override
    public void executionStarted(TestIdentifier id) {
        if (id.isTest()) {
            Daemon.startOfTest(name(id));
            started.put(id.getUniqueId(), System.nanoTime());
        }
    }

    @Override
    public void executionSkipped(TestIdentifier id, String reason) {
        report(suite(id), name(id), "skipped", 0, reason);
    }

    @Override
    public void executionFinished(TestIdentifier id, TestExecutionResult result) {
        Throwable thrown = result.getThrowable().orElse(null);
        if (!id.isTest()) {
            // A class whose set-up fails has no tests to say so.
            if (thrown != null) {
                thrown.printStackTrace();
                report("container", id.getDisplayName(), "failed", 0, thrown.toString());
            }
            return;
        }
        Daemon.stopAll();
        if (thrown != null) {
            System.err.println("--- " + name(id));
            thrown.printStackTrace();
        }
        String outcome = result.getStatus() == TestExecutionResult.Status.SUCCESSFUL
                ? "passed"
                : result.getStatus().toString().toLowerCase(Locale.ROOT);
        long millis = (System.nanoTime() - started.remove(id.getUniqueId())) / 1_000_000;
        report(suite(id), name(id), outcome, millis, thrown == null ? "" : thrown.toString());
    }

    private static MethodSource source(TestIdentifier id) {
        return (MethodSource) id.getSource().filter(MethodSource.class ::isInstance).orElse(null);
    }

    private static String suite(TestIdentifier id) {
        UniqueId.Segment top = UniqueId.parse(id.getUniqueId()).getSegments().get(1);
        return top.getValue().replaceFirst(".*\\.", "");
    }

    private static String name(TestIdentifier id) {
        String run = UniqueId.parse(id.getUniqueId()).getLastSegment().getValue();
        String method = source(id) == null ? id.getDisplayName() : source(id).getMethodName();
        return run.startsWith("#") ? method + run : method;
    }
}
