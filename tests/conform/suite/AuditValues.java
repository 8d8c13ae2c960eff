package org.apache.paimon.rest;

import java.io.IOException;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * Who made a table or partition, and when. The mock says "owner", "created", "updated" and 1, and
 * two tests (testAllTablesAndAllPartitionsTable, testReadPartitionsTable) compare with that. A real
 * server says real names and times: those are judged here, in every answer with a table or with
 * partitions, and then the mock's values take their place, so that the rest of these tests counts.
 */
final class AuditValues {
    static final ObjectMapper JSON = new ObjectMapper();

    private static final Pattern TABLE = Pattern.compile("/v1/[^/]+/databases/[^/]+/tables/[^/]+");
    private static final Pattern PARTITIONS =
            Pattern.compile(TABLE + "/partitions(/list-by-names)?");
    private static final Map<String, String> NAMES =
            Map.of("owner", "owner", "createdBy", "created", "updatedBy", "updated");
    private static final long START_OF_SUITE = System.currentTimeMillis();
    private static final long CLOCK_STEP_MS = 1000;

    private AuditValues() {}

    static byte[] replace(String method, String path, byte[] body) throws IOException {
        boolean table = method.equals("GET") && TABLE.matcher(path).matches();
        boolean partitions = PARTITIONS.matcher(path).matches() && body.length > 0;
        if (!table && !partitions) {
            return body;
        }
        JsonNode answer = JSON.readTree(body);
        if (table) {
            check(answer, "owner");
            put((ObjectNode) answer);
        } else {
            for (JsonNode partition : answer.path("partitions")) {
                check(partition, "createdBy");
                put((ObjectNode) partition);
            }
        }
        return JSON.writeValueAsBytes(answer);
    }

    private static void check(JsonNode object, String alsoNamed) {
        for (String name : new String[] {alsoNamed, "createdBy", "updatedBy"}) {
            if (!object.path(name).isTextual() || object.path(name).asText().isBlank()) {
                throw new IllegalStateException(name + " is no name: " + object);
            }
        }
        long created = object.path("createdAt").asLong();
        long updated = object.path("updatedAt").asLong();
        long now = System.currentTimeMillis() + CLOCK_STEP_MS;
        if (created < START_OF_SUITE - CLOCK_STEP_MS || updated < created || updated > now) {
            throw new IllegalStateException(
                    "createdAt or updatedAt is no time of this run: " + object);
        }
    }

    private static void put(ObjectNode object) {
        NAMES.forEach((member, value) -> {
            if (object.has(member)) {
                object.put(member, value);
            }
        });
        object.put("createdAt", 1);
        object.put("updatedAt", 1);
    }
}
