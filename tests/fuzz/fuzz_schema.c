/* fuzz_schema.c - any bytes as a schema file and as the Schema of a create request: refused with a
 * message, or decoded to what is written and read back as the same. */
#include "manifest/schema.h"
#include "proto/base/assert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_file(struct ctx *cx, str text)
{
    struct buf b = {0};
    struct json_out o;
    struct table_schema ts, again;
    int rc = schema_decode_file(cx, text, STR_LIT("fuzz"), &ts);
    if (rc < 0) {
        ASSERT((rc == E_CORRUPT || rc == E_UNSUPPORTED) && cx->err.code == rc && cx->err.msg[0]);
        return;
    }
    json_out_init(&o, &b);
    schema_encode_file(&o, &ts);
    ASSERT(buf_fail(&b) == 0);
    ASSERT(schema_decode_file(cx, buf_str(&b), STR_LIT("again"), &again) == 0);
    ASSERT(schema_equal(&ts.schema, &again.schema) && ts.id == again.id &&
           ts.highest_field_id == again.highest_field_id && ts.time_millis == again.time_millis);
    IGNORE(schema_check_table(cx, &ts.schema));
    buf_done(&b);
}

/* Decoding is normalising: done again on its own output it changes nothing. */
static void fuzz_request(struct ctx *cx, str text)
{
    struct buf b = {0};
    struct json_out o;
    struct schema s, again;
    const struct json *v;
    if (json_parse(cx, text, "fuzz", &v) < 0)
        return;
    int rc = schema_decode(cx, v, "schema", &s);
    if (rc < 0) {
        ASSERT(rc == E_INVAL && cx->err.code == rc && cx->err.msg[0]);
        return;
    }
    json_out_init(&o, &b);
    schema_encode(&o, &s);
    ASSERT(buf_fail(&b) == 0);
    ASSERT(json_parse(cx, buf_str(&b), "again", &v) == 0);
    ASSERT(schema_decode(cx, v, "schema", &again) == 0);
    ASSERT(schema_equal(&s, &again) && !again.path.p);
    rc = schema_check_table(cx, &s);
    ASSERT(rc == 0 || rc == E_INVAL || rc == E_UNSUPPORTED);
    struct table_schema first = schema_first(&s, 1);
    ASSERT(first.highest_field_id >= FIELD_ID_NONE && first.highest_field_id < FIELD_ID_SYSTEM);
    buf_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ctx cx;
    str text = str_n((const char *)data, size);
    ctx_init(&cx, 256 << 20);
    fuzz_file(&cx, text);
    ctx_reset_err(&cx);
    fuzz_request(&cx, text);
    ctx_done(&cx);
    return 0;
}
