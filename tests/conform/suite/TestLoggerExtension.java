package org.apache.paimon.testutils.junit;

import org.apache.paimon.rest.RESTCatalogServer;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * The suite's jar registers an extension of this name, which Paimon does not publish. In its place,
 * this one ends the daemons of a test after the test's own clean-up and before JUnit removes its
 * temporary directories: a daemon that still purges dropped tables there would race with the
 * removal.
 */
public final class TestLoggerExtension implements AfterEachCallback {
    @Override
    public void afterEach(ExtensionContext context) {
        RESTCatalogServer.stopAll();
    }
}
