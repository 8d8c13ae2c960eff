/* test_hash.c - known answers of the hashes, the map against a plain array; and rand.h's texts. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "proto/base/hash.h"
#include "proto/base/mem.h"
#include "proto/base/rand.h"

static void hash64_is_xxh3(void **state)
{
    (void)state;
    assert_true(hash64(NULL, 0) == 0x2D06800538D394C2u); /* XXH3_64bits of nothing, seed 0 */
    assert_true(hash64("", 0) == hash64(NULL, 0));
    assert_true(hash64("a", 1) == 0xE6C632B61E964E1Fu);
    assert_true(hash64("abc", 3) == 0x78AF5F94892F3950u);
    assert_true(hash64("abc", 3) != hash64("abd", 3));
}

static void sha256_has_known_answers(void **state)
{
    (void)state;
    uint8_t out[SHA256_LEN];
    char hex[2 * SHA256_LEN + 1];
    sha256(NULL, 0, out);
    hex_encode(out, sizeof(out), hex);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    sha256("abc", 3, out);
    hex_encode(out, sizeof(out), hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    hex_encode(NULL, 0, hex);
    assert_string_equal(hex, "");
}

static void secrets_compare(void **state)
{
    (void)state;
    assert_true(secret_eq("abcd", "abcd", 4));
    assert_false(secret_eq("abcd", "abce", 4));
    assert_false(secret_eq("abcd", "bbcd", 4));
    assert_true(secret_eq("abcd", "abce", 3));
    assert_true(secret_eq(NULL, NULL, 0));
    char a[64] = {0}, b[64] = {0};
    for (size_t i = 0; i < 64; i++) { /* each byte counts */
        b[i] = 1;
        assert_false(secret_eq(a, b, 64));
        b[i] = 0;
    }
}

static void map_keeps_replaces_deletes(void **state)
{
    (void)state;
    struct map m;
    map_init(&m);
    int one = 1, two = 2;
    assert_null(map_get(&m, STR_LIT("a")));
    assert_null(map_del(&m, STR_LIT("a")));
    size_t pos = 0;
    str key;
    void *value;
    assert_false(map_next(&m, &pos, &key, &value));
    char k1[] = "a", k2[] = "a";
    assert_int_equal(map_put(&m, str_n(k1, 1), &one), 0);
    assert_int_equal(map_put(&m, str_n(k2, 1), &two), 0); /* equal bytes elsewhere */
    assert_int_equal(m.live, 1);
    assert_ptr_equal(map_get(&m, STR_LIT("a")), &two);
    pos = 0;
    assert_true(map_next(&m, &pos, &key, &value));
    assert_ptr_equal(key.p, k2); /* the key is that of the value that is there */
    assert_false(map_next(&m, &pos, &key, &value));
    assert_int_equal(map_put(&m, STR_LIT(""), &one), 0); /* an empty key is a key */
    assert_ptr_equal(map_get(&m, STR_NONE), &one);
    assert_int_equal(map_put(&m, STR_LIT("a\0"), &one), 0);
    assert_int_equal(m.live, 3);
    assert_ptr_equal(map_del(&m, STR_LIT("a")), &two);
    assert_null(map_get(&m, STR_LIT("a")));
    assert_ptr_equal(map_get(&m, STR_LIT("a\0")), &one);
    assert_int_equal(m.used, 3);
    assert_int_equal(map_put(&m, STR_LIT("a"), &one), 0);
    assert_int_equal(m.used, 3); /* the deleted slot was taken again */
    map_done(&m);
    assert_null(map_get(&m, STR_LIT("")));
    map_done(&m);
}

enum { KEYS = 5000 };
static char key_text[KEYS][16];
static int model[KEYS]; /* 0: absent, else the index of the value */
static int values[1000];

static void check_against_model(const struct map *m)
{
    size_t live = 0;
    for (int k = 0; k < KEYS; k++) {
        void *want = model[k] ? &values[model[k]] : NULL;
        assert_ptr_equal(map_get(m, str_of(key_text[k])), want);
        live += want != NULL;
    }
    assert_int_equal(m->live, live);
    size_t used = 0;
    for (size_t i = 0; i < m->cap; i++)
        used += m->slots[i].used;
    assert_int_equal(m->used, used);
    static bool seen[KEYS];
    memset(seen, 0, sizeof(seen));
    size_t pos = 0, walked = 0;
    str key;
    void *value;
    while (map_next(m, &pos, &key, &value)) {
        size_t k = (size_t)(key.p - key_text[0]) / sizeof(key_text[0]);
        assert_true(k < KEYS && !seen[k]);
        seen[k] = true;
        assert_ptr_equal(value, &values[model[k]]);
        walked++;
    }
    assert_int_equal(walked, live);
}

static uint32_t seed = 12345;
static int pick(int below)
{
    seed = seed * 1664525 + 1013904223;
    return (int)((uint64_t)(seed >> 8) * (uint64_t)below >> 24);
}

static void map_agrees_with_a_model(void **state)
{
    (void)state;
    struct map m;
    map_init(&m);
    memset(model, 0, sizeof(model));
    for (int k = 0; k < KEYS; k++)
        snprintf(key_text[k], sizeof(key_text[k]), "key-%d", k);
    /* Mostly puts, then about even, then mostly deletions. */
    for (int phase = 0; phase < 3; phase++) {
        int put_percent = 80 - phase * 30;
        for (int i = 0; i < 20000; i++) {
            int k = pick(KEYS);
            str key = str_of(key_text[k]);
            if (pick(100) < put_percent) {
                model[k] = 1 + pick(999);
                assert_int_equal(map_put(&m, key, &values[model[k]]), 0);
            } else {
                void *want = model[k] ? &values[model[k]] : NULL;
                assert_ptr_equal(map_del(&m, key), want);
                model[k] = 0;
            }
        }
        assert_true(m.live > 100);
        assert_true(m.used * 4 <= m.cap * 3);
        check_against_model(&m);
    }
    for (int k = 0; k < KEYS; k++) {
        map_del(&m, str_of(key_text[k]));
        model[k] = 0;
    }
    check_against_model(&m);
    map_done(&m);
}

/* A map that lives for years with keys that come and go must not grow with them. */
static void map_does_not_grow_with_the_deleted(void **state)
{
    (void)state;
    struct map m;
    map_init(&m);
    char text[16];
    for (int i = 0; i < 20000; i++) {
        str key = str_n(text, (size_t)snprintf(text, sizeof(text), "%d", i));
        assert_int_equal(map_put(&m, key, &values[1]), 0);
        assert_ptr_equal(map_del(&m, key), &values[1]);
    }
    assert_int_equal(m.live, 0);
    assert_true(m.cap <= 16);
    map_done(&m);
}

static void map_survives_no_memory(void **state)
{
    (void)state;
    struct map m;
    map_init(&m);
    mem_fail_at(1, 1);
    assert_int_equal(map_put(&m, STR_LIT("a"), &values[1]), E_NOMEM);
    mem_fail_at(0, 0);
    assert_int_equal(m.cap, 0);
    int put = 0;
    for (; put < 12; put++)
        assert_int_equal(map_put(&m, str_of(key_text[put]), &values[put + 1]), 0);
    mem_fail_at(1, 1);
    int rc = 0;
    for (; rc == 0 && put < 100; put += rc == 0)
        rc = map_put(&m, str_of(key_text[put]), &values[put + 1]);
    assert_int_equal(rc, E_NOMEM);
    assert_int_equal(m.live, put);
    assert_null(map_get(&m, str_of(key_text[put])));
    for (int k = 0; k < put; k++)
        assert_ptr_equal(map_get(&m, str_of(key_text[k])), &values[k + 1]);
    /* To replace needs no memory. */
    assert_int_equal(map_put(&m, str_of(key_text[0]), &values[9]), 0);
    assert_ptr_equal(map_get(&m, str_of(key_text[0])), &values[9]);
    mem_fail_at(0, 0);
    assert_int_equal(map_put(&m, str_of(key_text[put]), &values[1]), 0);
    map_done(&m);
}

static void rand_makes_uuids(void **state)
{
    (void)state;
    char a[UUID_LEN + 1], b[UUID_LEN + 1];
    for (int round = 0; round < 200; round++) {
        rand_uuid(a);
        rand_uuid(b);
        assert_string_not_equal(a, b);
        assert_int_equal(strlen(a), UUID_LEN);
        for (int i = 0; i < UUID_LEN; i++) {
            bool dash = i == 8 || i == 13 || i == 18 || i == 23;
            if (dash)
                assert_int_equal(a[i], '-');
            else
                assert_non_null(strchr("0123456789abcdef", a[i]));
        }
        assert_int_equal(a[14], '4');
        assert_non_null(strchr("89ab", a[19]));
    }
}

static void rand_makes_hex(void **state)
{
    (void)state;
    char text[202];
    static const size_t sizes[] = {0, 2, 62, 64, 66, 200};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        memset(text, 'Z', sizeof(text));
        rand_hex(text, sizes[i]);
        assert_int_equal(strlen(text), sizes[i]);
        assert_int_equal(strspn(text, "0123456789abcdef"), sizes[i]);
        assert_int_equal(text[sizes[i] + 1], 'Z');
    }
    assert_true(rand_u64() != rand_u64());
    uint8_t big[1000] = {0};
    rand_bytes(big, sizeof(big));
    int zeros = 0;
    for (size_t i = 0; i < sizeof(big); i++)
        zeros += big[i] == 0;
    assert_true(zeros < 30); /* about 4; a part that was not filled would show */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hash64_is_xxh3),
        cmocka_unit_test(sha256_has_known_answers),
        cmocka_unit_test(secrets_compare),
        cmocka_unit_test(map_keeps_replaces_deletes),
        cmocka_unit_test(map_agrees_with_a_model),
        cmocka_unit_test(map_does_not_grow_with_the_deleted),
        cmocka_unit_test(map_survives_no_memory),
        cmocka_unit_test(rand_makes_uuids),
        cmocka_unit_test(rand_makes_hex),
    };
    return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}
