/* test_type_cast.c - which type may become which. The expected table was printed by Paimon 1.4.2
 * itself (SchemaManager with each pair of types, with and without disable-explicit-type-casting). */
#include "tests/unit/manifest/fixture.h"

#include "manifest/type_cast.h"

static const struct row {
    const char *type;
    const char *from; /* i: implicitly, e: explicitly, of the types in the order of the rows */
} rows[] = {
    {"CHAR(3)", "ieeeeeeeeeeee.....e..ee"},
    {"VARCHAR(3)", "iiieeeeeeeeee.....e..ee"},
    {"STRING", "iiieeeeeeeeeeeeee.e..ee"},
    {"BOOLEAN", "eee....eeee............"},
    {"BINARY(3)", "eee.ie................."},
    {"BYTES", "eee.ii................."},
    {"DECIMAL(9, 2)", "eeee..iiiiiii.........."},
    {"TINYINT", "eeee..eieeeee.........."},
    {"SMALLINT", "eeee..eiieeee.........."},
    {"INT", "eeee..eiiieee..ee......"},
    {"BIGINT", "eeee..eiiiiee..ee......"},
    {"FLOAT", "eeee..iiiiiie.........."},
    {"DOUBLE", "eeee..iiiiiii.........."},
    {"DATE", "eee............ie......"},
    {"TIME(3)", "eee............ie......"},
    {"TIMESTAMP(3)", "eee......ee..eeii......"},
    {"TIMESTAMP(3) WITH LOCAL TIME ZONE", "eee......ee..eeii......"},
    {"VARIANT", "......................."},
    {"{\"type\":\"ARRAY\",\"element\":\"INT\"}", "......................."},
    {"{\"type\":\"VECTOR\",\"element\":\"FLOAT\",\"length\":3}", "......................."},
    {"{\"type\":\"MULTISET\",\"element\":\"INT\"}", "......................."},
    {"{\"type\":\"MAP\",\"key\":\"INT\",\"value\":\"INT\"}", "......................."},
    {"{\"type\":\"ROW\",\"fields\":[]}", "......................."},
};
enum { N = sizeof rows / sizeof *rows };

static void every_pair(void **state)
{
    (void)state;
    for (int to = 0; to < N; to++) {
        assert_int_equal(strlen(rows[to].from), N);
        for (int from = 0; from < N; from++) {
            const struct data_type *a = type_of(rows[from].type), *b = type_of(rows[to].type);
            char want = rows[to].from[from];
            if (types_may_cast(a, b, false) != (want == 'i') ||
                types_may_cast(a, b, true) != (want != '.'))
                fail_msg("%s to %s is not '%c'", rows[from].type, rows[to].type, want);
        }
    }
}

static void kinds_without_casts(void **state)
{
    (void)state;
    static const char *const none[] = {"BLOB", "GEOMETRY", "GEOGRAPHY"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        for (int k = 0; k < N; k++) {
            assert_false(types_may_cast(type_of(none[i]), type_of(rows[k].type), true));
            assert_false(types_may_cast(type_of(rows[k].type), type_of(none[i]), true));
            assert_false(types_may_cast(type_of(none[i]), type_of(none[i]), true));
        }
}

static void nullability(void **state)
{
    (void)state;
    assert_false(types_may_cast(type_of("INT"), type_of("BIGINT NOT NULL"), false));
    assert_true(types_may_cast(type_of("INT"), type_of("BIGINT NOT NULL"), true));
    assert_true(types_may_cast(type_of("INT NOT NULL"), type_of("BIGINT NOT NULL"), false));
    assert_true(types_may_cast(type_of("INT NOT NULL"), type_of("BIGINT"), false));
    /* Dates become exactly STRING. */
    assert_true(types_may_cast(type_of("DATE NOT NULL"), type_of("STRING"), true));
    assert_false(types_may_cast(type_of("DATE NOT NULL"), type_of("STRING NOT NULL"), true));
    assert_false(types_may_cast(type_of("DATE"), type_of("VARCHAR(2147483646)"), true));
    assert_true(types_may_cast(type_of("INT NOT NULL"), type_of("STRING NOT NULL"), true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair),
        cmocka_unit_test(kinds_without_casts),
        cmocka_unit_test(nullability),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
