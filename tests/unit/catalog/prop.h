/* prop.h - runs random lives of a table: a few fixed ones, one at random, one on real disks.
 *
 * PROP_SEED=n runs that one life, PROP_LIVES=n so many random ones. Included once by each test program
 * after fixture.h. */
#ifndef LATCH_TESTS_UNIT_CATALOG_PROP_H
#define LATCH_TESTS_UNIT_CATALOG_PROP_H

struct prop {
    void (*live)(uint64_t seed, unsigned kind, int steps);
    unsigned (*any_kind)(void); /* of one of many lives */
    int steps, steps_on_disk;
};

static void prop_lives(void **state)
{
    const struct prop *p = *state;
    const char *seed = getenv("PROP_SEED"), *many = getenv("PROP_LIVES");
    int64_t n = 0;
    if (seed && str_to_i64(str_of(seed), &n)) {
        p->live((uint64_t)n, FX_MEM, p->steps);
        return;
    }
    if (many && str_to_i64(str_of(many), &n)) {
        while (n-- > 0)
            p->live(rand_u64() >> 20, p->any_kind(), p->steps);
        return;
    }
    for (uint64_t s = 1; s <= 6; s++)
        p->live(s, FX_MEM, p->steps);
    p->live(rand_u64() >> 20, FX_MEM, p->steps);
}

static void prop_life_on_real_disks(void **state)
{
    const struct prop *p = *state;
    if (!getenv("PROP_SEED") && !getenv("PROP_LIVES"))
        p->live(rand_u64() >> 20, FX_SQLITE | FX_PUT_AFTER, p->steps_on_disk);
}

static int prop_run(struct prop *p)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(prop_lives, p),
        cmocka_unit_test_prestate(prop_life_on_real_disks, p),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
