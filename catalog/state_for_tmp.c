#include "catalog/table_state.h"
#include "catalog/commit_facts.h"
int state_load_for(struct ctx *cx, const struct meta_dir *d, const struct snapshot *s,
                   const struct state_opts *o, const struct commit_facts *f,
                   struct table_state **ret);
int state_load_for(struct ctx *cx, const struct meta_dir *d, const struct snapshot *s,
                   const struct state_opts *o, const struct commit_facts *f,
                   struct table_state **ret)
{
    (void)f;
    struct state_opts w = *o;
    w.max_bytes = (size_t)1 << 40;
    return state_load(cx, d, s, &w, ret);
}
