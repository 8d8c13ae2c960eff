/* states.c - all states in memory, and which of them makes room.
 *
 * A list by last use. Whoever used one moves it to the front and says how large it is; while all together
 * are above state.memory the oldest are sent a task on their own strand, because only there may a state
 * go. One that has work by then stays.
 *
 * Thread rule: `mu` guards the list and the branches' links; it is taken before table.mu, never while a
 * state is read. */
#include "catalog/catalog_int.h"

#include "proto/base/assert.h"
#include "proto/base/log.h"

#define VICTIMS_MAX 8 /* of one turn */

void states_init(struct catalog *c)
{
    pthread_mutex_init(&c->states.mu, NULL);
}

static void unlink_branch(struct states *s, struct branch *br)
{
    *(br->newer ? &br->newer->older : &s->newest) = br->older;
    *(br->older ? &br->older->newer : &s->oldest) = br->newer;
    br->newer = br->older = NULL;
    s->bytes -= br->state_bytes;
    s->n--;
    br->state_bytes = 0;
}

static void link_branch(struct states *s, struct branch *br, size_t bytes)
{
    br->older = s->newest;
    *(s->newest ? &s->newest->newer : &s->oldest) = br;
    s->newest = br;
    br->state_bytes = bytes;
    s->bytes += bytes;
    s->n++;
}

void states_remove(struct branch *br)
{
    struct states *s = &br->table->cat->states;
    pthread_mutex_lock(&s->mu);
    if (br->state_bytes)
        unlink_branch(s, br);
    pthread_mutex_unlock(&s->mu);
}

static void evict_end(struct branch *br)
{
    struct states *s = &br->table->cat->states;
    pthread_mutex_lock(&s->mu);
    br->evicting = false;
    pthread_mutex_unlock(&s->mu);
    branch_unref(br);
}

/* Still to go, and not used again meanwhile? */
static bool must_go(struct branch *br)
{
    struct catalog *c = br->table->cat;
    pthread_mutex_lock(&c->states.mu);
    bool over = c->states.bytes > c->o.state_memory && br != c->states.newest;
    pthread_mutex_unlock(&c->states.mu);
    return over && br->state;
}

/* Work that waits may want the state: it goes first, and if it used it, another one has been chosen. */
static void evict_run(struct strand_task *task)
{
    struct branch *br = (struct branch *)((char *)task - offsetof(struct branch, evict));
    if (must_go(br) && strand_waits(&br->strand) && strand_post(&br->strand, task) == 0)
        return;
    if (must_go(br)) {
        state_keep_now(br);
        branch_state_drop(br);
        COUNT(br->table->cat, states_evicted);
    }
    evict_end(br);
}

/* The oldest whose eviction would bring it below the budget; each with a reference. mu is held. */
static size_t choose(struct catalog *c, const struct branch *but, struct branch **ret)
{
    struct states *s = &c->states;
    size_t n = 0, bytes = s->bytes;
    for (struct branch *br = s->oldest; br && n < VICTIMS_MAX && bytes > c->o.state_memory;
         br = br->newer) {
        if (br == but)
            continue;
        bytes -= br->state_bytes;
        if (!br->evicting && branch_try_ref(br)) {
            br->evicting = true;
            ret[n++] = br;
        }
    }
    return n;
}

void states_touch(struct branch *br)
{
    struct catalog *c = br->table->cat;
    struct states *s = &c->states;
    struct branch *victims[VICTIMS_MAX];
    size_t bytes = state_info(br->state).bytes;
    pthread_mutex_lock(&s->mu);
    if (br->state_bytes)
        unlink_branch(s, br);
    link_branch(s, br, bytes ? bytes : 1);
    size_t n = choose(c, br, victims);
    pthread_mutex_unlock(&s->mu);
    for (size_t i = 0; i < n; i++) {
        victims[i]->evict.fn = evict_run;
        if (strand_post(&victims[i]->strand, &victims[i]->evict) < 0)
            evict_end(victims[i]);
    }
}

/* Nothing runs any more. */
void states_close(struct catalog *c)
{
    for (struct branch *br; (br = c->states.oldest);) {
        state_keep_now(br);
        branch_state_drop(br);
    }
    ASSERT(c->states.n == 0 && c->states.bytes == 0);
    pthread_mutex_destroy(&c->states.mu);
}
