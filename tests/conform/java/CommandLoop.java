/*
 * How the mains here talk to tests/lib/java.py: a command a line on the standard input, its words
 * separated by tabs; an answer a line: "ok TAB text" or "err TAB class TAB message TAB class TAB
 * message ..." from the exception down to its last cause. "ok TAB ready" comes first.
 */
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

final class CommandLoop {
    interface Command {
        String run(String[] words) throws Exception;
    }

    private final PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);

    CommandLoop() {
        System.setOut(System.err); // whatever a library prints must not look like an answer
    }

    /** Until the input ends. */
    void serve(Command command) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        answers.println("ok\tready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            try {
                answers.println("ok\t" + oneLine(command.run(line.split("\t", -1))));
            } catch (Throwable t) {
                answers.println("err" + causes(t));
            }
        }
    }

    private static String oneLine(String s) {
        return s.replace('\n', ' ').replace('\r', ' ');
    }

    private static String causes(Throwable t) {
        StringBuilder b = new StringBuilder();
        for (Throwable c = t; c != null; c = c.getCause()) {
            String message = String.valueOf(c.getMessage()).replace('\t', ' ');
            b.append('\t').append(c.getClass().getSimpleName()).append('\t').append(oneLine(message));
        }
        return b.toString();
    }
}
