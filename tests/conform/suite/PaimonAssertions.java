package org.apache.paimon.testutils.assertj;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.assertj.core.api.ThrowingConsumer;

/**
 * Stands in for a helper class that the suite uses and Paimon does not publish. Both methods ask
 * that one throwable of the chain of causes has a message with the text and, at once, is of the
 * class.
 */
public final class PaimonAssertions {
    private PaimonAssertions() {}

    public static ThrowingConsumer<? super Throwable> anyCauseMatches(String text) {
        return anyCauseMatches(Throwable.class, text);
    }

    public static ThrowingConsumer<? super Throwable> anyCauseMatches(
            Class<? extends Throwable> type, String text) {
        return thrown
                -> assertThat(causes(thrown))
                           .anySatisfy(cause
                                   -> assertThat(cause).isInstanceOf(type).hasMessageContaining(
                                           text));
    }

    private static List<Throwable> causes(Throwable thrown) {
        List<Throwable> chain = new ArrayList<>();
        Throwable cause = thrown;
        while (cause != null && !chain.contains(cause)) {
            chain.add(cause);
            cause = cause.getCause();
        }
        return chain;
    }
}
