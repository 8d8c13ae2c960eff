/* make_table.c - the files of a table with many data files, made quickly, and commits onto it. A tool of
 * `make bench`: it writes with the daemon's code what Java's writers would have written.
 *
 *   make_table DIR FILES PARTITIONS BUCKETS [CODEC]
 *
 * DIR is the directory of a table that is there and empty, with the columns (dt STRING, k BIGINT,
 * v STRING), primary key (dt, k), partitioned by dt. It gets FILES live files of level 5, in manifests of
 * 8 MB, each added by a snapshot of its own (so that whoever adopts them needs memory for one at a time);
 * none of the data files exists. It prints "made N manifests, B bytes": N is the last snapshot. Then for each line on standard input
 * the files of the next commit are written: one data file of level 0, its manifest, both lists; the
 * snapshot is printed as one line of JSON. Nothing is synced. */
#include <errno.h>
#include <sys/stat.h>

#include "manifest/manifest.h"
#include "proto/base/clock.h"
#include "proto/base/rand.h"
#include "proto/json/json.h"

#define MEMORY        ((size_t)4 << 30)
#define MANIFEST_SIZE ((size_t)8 << 20) /* Paimon's manifest.target-file-size */
#define MANIFESTS_MAX 100000
#define OLD_ROWS      100000
#define OLD_SIZE      (INT64_C(128) << 20)
#define NEW_ROWS      100
#define NEW_SIZE      1000

struct made {
    const char *dir;
    int64_t files, partitions, buckets;
    enum codec_kind codec;
    const struct data_type *types[3]; /* dt, k, v */
    struct manifest_file list[MANIFESTS_MAX];
    size_t n_list;
    struct avro_list no_nulls_1, no_nulls_3;
    int64_t snapshot, rows, sequence;
};

/* What an entry borrows; reused. */
struct rows {
    struct buf partition, min_key, max_key, min, max;
    char dt[16], name[80], low[24], high[24];
};

/* --- rows ------------------------------------------------------------------------------------------------ */

static struct binrow_value number(int64_t v)
{
    return (struct binrow_value){.tag = BV_INT, .i = v};
}

static struct binrow_value text(const char *z)
{
    return (struct binrow_value){.tag = BV_BYTES, .bytes = str_of(z)};
}

static str row(struct buf *b, const struct data_type *const *types, const struct binrow_value *v,
               size_t n)
{
    struct binrow_type t = {types, n};
    buf_clear(b);
    binrow_write(b, &t, v);
    return buf_str(b);
}

static str partition_of(const struct made *m, struct rows *r, int64_t p)
{
    snprintf(r->dt, sizeof r->dt, "part-%06lld", (long long)p);
    struct binrow_value dt = text(r->dt);
    return row(&r->partition, m->types, &dt, 1);
}

/* A file with keys [low, high] of partition p, named anew. */
static void file_of(const struct made *m, struct rows *r, int64_t p, int64_t low, int64_t high,
                    struct manifest_entry *e)
{
    struct binrow_value key = number(low), last = number(high);
    char uuid[UUID_LEN + 1];
    rand_uuid(uuid);
    snprintf(r->name, sizeof r->name, "data-%s-0.parquet", uuid);
    snprintf(r->low, sizeof r->low, "value-%012lld", (long long)low);
    snprintf(r->high, sizeof r->high, "value-%012lld", (long long)high);
    e->partition = partition_of(m, r, p);
    struct binrow_value min[] = {text(r->dt), key, text(r->low)},
                        max[] = {text(r->dt), last, text(r->high)};
    str low_key = row(&r->min_key, &m->types[1], &key, 1),
        high_key = row(&r->max_key, &m->types[1], &last, 1);
    e->file.name = str_of(r->name);
    e->file.min_key = low_key;
    e->file.max_key = high_key;
    e->file.key_stats = (struct raw_stats){low_key, high_key, m->no_nulls_1};
    e->file.value_stats = (struct raw_stats){row(&r->min, m->types, min, 3),
                                             row(&r->max, m->types, max, 3), m->no_nulls_3};
}

static struct manifest_entry entry(const struct made *m, int32_t level, int64_t rows, int64_t size)
{
    return (struct manifest_entry){
        .kind = FILE_ADD,
        .total_buckets = (int32_t)m->buckets,
        .file = {.row_count = rows,
                 .size = size,
                 .level = level,
                 .extra_files = {.has = true, .items = {"", 0}},
                 .creation_ms = {true, clock_wall_ms()},
                 .delete_row_count = {true, 0},
                 .embedded_index = STR_NONE,
                 .external_path = STR_NONE,
                 .source = {true, level ? FILE_FROM_COMPACT : FILE_FROM_APPEND}}};
}

/* --- files ------------------------------------------------------------------------------------------------ */

static int save(struct ctx *cx, const struct made *m, const char *sub, str name, str bytes)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", m->dir, sub);
    for (char *at = path + strlen(m->dir); (at = strchr(at + 1, '/'));) {
        *at = 0;
        mkdir(path, 0777);
        *at = '/';
    }
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/%s/%.*s", m->dir, sub, STR(name));
    FILE *f = fopen(path, "wb");
    size_t n = f ? fwrite(bytes.p, 1, bytes.len, f) : 0;
    if (!f || fclose(f) != 0 || n != bytes.len)
        return ctx_fail_errno(cx, E_IO, "cannot write %s", path);
    return 0;
}

static int name_of(struct ctx *cx, const char *kind, str *ret)
{
    char uuid[UUID_LEN + 1];
    rand_uuid(uuid);
    return ctx_text(cx, ret, "%s-%s-0", kind, uuid);
}

/* Ends a manifest of partitions first..last, and lists it. */
static int manifest_end(struct ctx *cx, struct made *m, struct manifest_writer *w, int64_t first,
                        int64_t last)
{
    struct rows r = {0};
    str bytes;
    struct manifest_file *mf = &m->list[m->n_list];
    if (m->n_list == MANIFESTS_MAX)
        return ctx_fail(cx, E_TOOBIG, RES_NONE, STR_NONE, "too many manifests");
    TRY(manifest_write_end(cx, w, &bytes, mf));
    TRY(name_of(cx, "manifest", &mf->name));
    mf->size = (int64_t)bytes.len;
    mf->partition_stats.min = str_dup(&cx->arena, partition_of(m, &r, first));
    mf->partition_stats.max = str_dup(&cx->arena, partition_of(m, &r, last));
    mf->partition_stats.null_counts = m->no_nulls_1;
    buf_done(&r.partition);
    m->n_list++;
    return save(cx, m, "manifest", mf->name, bytes);
}

static int list_of(struct ctx *cx, const struct made *m, size_t from, size_t to, str *ret_name,
                   size_t *ret_size)
{
    CLEANUP(buf_done) struct buf out = {0};
    TRY(manifest_list_write(cx, m->list + from, to - from, m->codec, 1, &out));
    TRY(name_of(cx, "manifest-list", ret_name));
    *ret_size = out.len;
    return save(cx, m, "manifest", *ret_name, buf_str(&out));
}

/* The lists of a snapshot whose delta is the manifests from `base` on, and its text. */
static int snapshot_of(struct ctx *cx, struct made *m, size_t base, int64_t added, struct buf *out)
{
    str base_list, delta_list;
    size_t base_size, delta_size;
    char uuid[UUID_LEN + 1];
    rand_uuid(uuid);
    TRY(list_of(cx, m, 0, base, &base_list, &base_size));
    TRY(list_of(cx, m, base, m->n_list, &delta_list, &delta_size));
    m->snapshot++;
    m->rows += added;
    buf_addf(out,
             "{\"version\":3,\"id\":%lld,\"schemaId\":0,\"baseManifestList\":\"%.*s\","
             "\"baseManifestListSize\":%zu,\"deltaManifestList\":\"%.*s\","
             "\"deltaManifestListSize\":%zu,\"commitUser\":\"bench\",\"commitIdentifier\":%lld,"
             "\"commitKind\":\"APPEND\",\"timeMillis\":%lld,\"totalRecordCount\":%lld,"
             "\"deltaRecordCount\":%lld,\"uuid\":\"%s\"}",
             (long long)m->snapshot, STR(base_list), base_size, STR(delta_list), delta_size,
             (long long)m->snapshot, (long long)clock_wall_ms(), (long long)m->rows,
             (long long)added, uuid);
    return buf_fail(out) ? ctx_nomem(cx) : 0;
}

/* --- snapshot 1 -------------------------------------------------------------------------------------------- */

/* File i lies in partition i * partitions / files, then by bucket, then by key. */
static int add_old(struct ctx *cx, const struct made *m, struct manifest_writer *w, struct rows *r,
                   int64_t i, int64_t *ret_p)
{
    struct manifest_entry e = entry(m, 5, OLD_ROWS, OLD_SIZE);
    int64_t p = i * m->partitions / m->files;
    int64_t first = (p * m->files + m->partitions - 1) / m->partitions;
    int64_t next = ((p + 1) * m->files + m->partitions - 1) / m->partitions;
    e.bucket = (int32_t)((i - first) * m->buckets / (next - first));
    e.file.min_seq = i * OLD_ROWS;
    e.file.max_seq = e.file.min_seq + OLD_ROWS - 1;
    file_of(m, r, p, i * OLD_ROWS, (i + 1) * OLD_ROWS - 1, &e);
    *ret_p = p;
    return manifest_write_add(cx, w, &e);
}

/* One manifest: files from *i on. */
static int one_manifest(struct ctx *cx, struct made *m, struct rows *r, int64_t *i)
{
    CLEANUP(manifest_write_done) struct manifest_writer w;
    int64_t first = -1, p = 0;
    TRY(manifest_write_open(cx, &w, m->codec, 1));
    for (; *i < m->files && (*i % 1000 || manifest_size(&w) < MANIFEST_SIZE); ++*i) {
        TRY(add_old(cx, m, &w, r, *i, &p));
        first = first < 0 ? p : first;
    }
    return manifest_end(cx, m, &w, first, p);
}

/* A snapshot for each manifest: the server adopts one after the other. */
static int first_snapshots(struct ctx *cx, struct made *m)
{
    CLEANUP(buf_done) struct buf out = {0};
    struct rows r = {0};
    int64_t bytes = 0;
    for (int64_t i = 0; i < m->files;) {
        size_t base = m->n_list;
        int64_t before = i;
        str name;
        TRY(one_manifest(cx, m, &r, &i));
        buf_clear(&out);
        TRY(snapshot_of(cx, m, base, (i - before) * OLD_ROWS, &out));
        TRY(ctx_text(cx, &name, "snapshot-%lld", (long long)m->snapshot));
        TRY(save(cx, m, "snapshot", name, buf_str(&out)));
        bytes += m->list[base].size;
    }
    m->sequence = m->rows;
    printf("made %zu manifests, %lld bytes\n", m->n_list, (long long)bytes);
    return 0;
}

/* --- commits ----------------------------------------------------------------------------------------------- */

static int data_file_new(struct ctx *cx, const struct made *m, const struct rows *r,
                         const struct manifest_entry *e)
{
    static const char content[NEW_SIZE];
    char sub[64];
    snprintf(sub, sizeof sub, "dt=%s/bucket-%d", r->dt, e->bucket);
    return save(cx, m, sub, e->file.name, str_n(content, sizeof content));
}

static int next_commit(struct ctx *cx, struct made *m)
{
    CLEANUP(manifest_write_done) struct manifest_writer w;
    CLEANUP(buf_done) struct buf out = {0};
    static struct rows r;
    struct manifest_entry e = entry(m, 0, NEW_ROWS, NEW_SIZE);
    size_t base = m->n_list;
    int64_t p = m->snapshot * 7919 % m->partitions;
    e.bucket = (int32_t)(m->snapshot % m->buckets);
    e.file.min_seq = m->sequence;
    m->sequence += NEW_ROWS;
    e.file.max_seq = m->sequence - 1;
    file_of(m, &r, p, m->sequence, m->sequence + NEW_ROWS, &e);
    TRY(data_file_new(cx, m, &r, &e));
    TRY(manifest_write_open(cx, &w, m->codec, 1));
    TRY(manifest_write_add(cx, &w, &e));
    TRY(manifest_end(cx, m, &w, p, p));
    TRY(snapshot_of(cx, m, base, NEW_ROWS, &out));
    printf("%.*s\n", STR(buf_str(&out)));
    return 0;
}

static int no_nulls(struct ctx *cx, struct made *m)
{
    struct opt_i64 zero[3] = {{true, 0}, {true, 0}, {true, 0}};
    TRY(avro_list_of_opts(cx, zero, 1, &m->no_nulls_1));
    return avro_list_of_opts(cx, zero, 3, &m->no_nulls_3);
}

static int run(struct ctx *cx, struct made *m)
{
    char line[64];
    TRY(types_parse(cx, STR_LIT("STRING NOT NULL"), &m->types[0]));
    TRY(types_parse(cx, STR_LIT("BIGINT NOT NULL"), &m->types[1]));
    TRY(types_parse(cx, STR_LIT("STRING"), &m->types[2]));
    TRY(no_nulls(cx, m));
    TRY(first_snapshots(cx, m));
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        TRY(next_commit(cx, m));
        fflush(stdout);
    }
    return 0;
}

int main(int argc, char **argv)
{
    static struct made m;
    struct ctx cx;
    if (argc < 5) {
        fprintf(stderr, "usage: make_table DIR FILES PARTITIONS BUCKETS [CODEC]\n");
        return 2;
    }
    m.dir = argv[1];
    m.files = strtoll(argv[2], NULL, 10);
    m.partitions = strtoll(argv[3], NULL, 10);
    m.buckets = strtoll(argv[4], NULL, 10);
    m.codec = codec_to_write(str_of(argc > 5 ? argv[5] : "zstd"));
    ctx_init(&cx, MEMORY);
    int rc = run(&cx, &m);
    if (rc < 0)
        fprintf(stderr, "make_table: %s: %s\n", err_name(rc), cx.err.msg);
    ctx_done(&cx);
    return rc < 0;
}
