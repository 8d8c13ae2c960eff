/* commit_int.h - one commit on its way, between the files that move it: commit.c (a client's snapshot),
 * native.c (a snapshot that we make), and their common parts
 *   commit_prepare.c  4a, off the strand
 *   commit_make.c     5 to 7, on it
 * Whoever owns a struct commit calls commit_done in the end. */
#ifndef LATCH_CATALOG_COMMIT_INT_H
#define LATCH_CATALOG_COMMIT_INT_H

#include "catalog/commit_files.h"

#define REASON_SHOWN 300 /* bytes of a reason in a message that says what to do behind it */
#define NEED_MAX     2   /* the third time it gathers where it is: on its turn */

/* What a step on the strand says besides a negative error. */
enum say { GO_ON = 0, ANSWERED = 1, NEED_MORE = 2 };

struct evidence {
    int64_t epoch, seq; /* of the branch, before we looked */
    bool looked;        /* for an earlier outcome */
    bool known;         /* there is one: success */
    int64_t known_id;   /* the snapshot that it became; 0: not known, or none */
    bool file_looked;   /* into the file of its number, if the head was that far */
    bool gathered;      /* what follows is there */
    str missing; /* the statistics file that it names and that is not there; p == NULL: none */
    enum schema_seen *schemas;
    struct file_evidence *files; /* NULL: not looked at */
    struct restore_sums restore;
};

struct commit {
    struct branch *br;
    struct commit_in in;
    struct snapshot snap;
    uint8_t key[OUTCOME_KEY_LEN];
    struct table_traits *traits;
    struct conflict_rules rules;
    struct commit_facts *facts;  /* NULL: not read yet */
    struct table_state *partial; /* of a table too large for a state */
    uint64_t partial_text;       /* of the head that it is of */
    str damage; /* why there is none: that head's own files; p == NULL: they are whole */
    struct evidence ev;
    struct need need; /* what the last verdict asked for */
    int needs;
    const struct io_new *make; /* files in the table's io that are made with the snapshot */
    size_t n_make;
    bool made; /* they are there */
};

void commit_done(struct commit *cm);

/* --- commit_prepare.c (any thread that may block) --------------------------------------------- */
/* Was this very snapshot answered before? */
int commit_look_back(struct ctx *cx, struct commit *cm) WARN_UNUSED;
/* Traits of the table and the rules that it is judged by. */
int commit_traits(struct ctx *cx, struct commit *cm) WARN_UNUSED;
/* Of cm->facts, whose lists are known: base manifests that the last verdict asked for, schemas, data files,
 * the state of a table too large for one. */
int commit_gather(struct ctx *cx, struct commit *cm, const struct head *h) WARN_UNUSED;
/* Is it the successor of `h` (NULL: none), made on it? */
bool commit_base_right(const struct commit *cm, const struct head *h);

/* --- commit.c (strand) ------------------------------------------------------------------------ */
/* 2. ANSWERED: it is known, GO_ON: it is not, NEED_MORE: what we saw is too old to tell. */
enum say commit_replayed(struct commit *cm);
/* The state to judge by. NEED_MORE: what was read through is of another head; E_NEED; E_CORRUPT: the table's
 * own files are damaged, which commit_damaged makes a refusal of (once: the next look reads them again). */
int commit_state(struct ctx *cx, struct commit *cm, struct table_state **ret) WARN_UNUSED;
int commit_damaged(struct ctx *cx, struct verdict *v) WARN_UNUSED; /* GO_ON */
/* 4b of cm->facts: GO_ON with an OK or a REFUSE (also for a table that is damaged itself), NEED_MORE: back
 * to 4a with cm->need, or an error, E_NEED among them. */
int commit_judge(struct ctx *cx, struct commit *cm, struct verdict *v) WARN_UNUSED;
/* A refusal of no file, by what is not there to be judged. */
void commit_manifest_bad(struct ctx *cx, struct verdict *v, str message);
/* Puts it on the conflict list; the 409. */
int commit_refused(struct ctx *cx, struct commit *cm, const struct refusal *r);
void commit_said(struct ctx *cx, struct commit *cm, bool success, const char *how); /* the log */

/* --- commit_make.c (strand) ------------------------------------------------------------------- */
/* What became of snapshot-N: another's; made by us now; ours by an earlier try, and adopted now. */
enum made { LOST = 0, CREATED = 1, ADOPTED = 2 };
/* 5, 6 and 7. An enum made, or an error; only E_UNKNOWN says that the file may be there. */
int commit_make(struct ctx *cx, struct commit *cm) WARN_UNUSED;

#endif
