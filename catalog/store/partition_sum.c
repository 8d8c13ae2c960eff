/* partition_sum.c - sums of a partition's statistics, after Paimon's catalog server.
 *
 * Two kinds of numbers meet here. A commit tells what it changed: a negative count is a decrement. A
 * report tells what somebody measured: a negative number is one that was not measured. What is held
 * is of the second kind, so a commit replaces what nobody has measured: unknown plus a count would be
 * short by one. */
#include "catalog/store/partition_sum.h"

static int64_t add(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return b < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

static int64_t max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void partition_unknown(struct partition_delta *sum)
{
    sum->records = sum->file_size_bytes = sum->file_count = -1;
    sum->last_file_ms = sum->buckets = -1;
}

static void commit_one(int64_t *held, int64_t d)
{
    *held = *held < 0 ? d : add(*held, d);
}

void partition_commit(struct partition_delta *sum, const struct partition_delta *d)
{
    commit_one(&sum->records, d->records);
    commit_one(&sum->file_size_bytes, d->file_size_bytes);
    commit_one(&sum->file_count, d->file_count);
    sum->last_file_ms = max(sum->last_file_ms, d->last_file_ms);
    sum->buckets = d->buckets;
}

bool partition_same(const struct partition_delta *a, const struct partition_delta *b)
{
    return a->records == b->records && a->file_size_bytes == b->file_size_bytes &&
           a->file_count == b->file_count && a->last_file_ms == b->last_file_ms &&
           a->buckets == b->buckets;
}

bool partition_measured(const struct partition_delta *sum)
{
    return sum->records >= 0 || sum->file_size_bytes >= 0 || sum->file_count >= 0;
}

bool partition_empty(const struct partition_delta *sum)
{
    return sum->records <= 0 && sum->file_size_bytes <= 0 && sum->file_count <= 0;
}

static void report_one(int64_t *held, int64_t d, bool replace)
{
    if (d >= 0)
        *held = replace || *held < 0 ? d : add(*held, d);
}

void partition_report(struct partition_delta *sum, const struct partition_delta *d, bool replace)
{
    report_one(&sum->records, d->records, replace);
    report_one(&sum->file_size_bytes, d->file_size_bytes, replace);
    report_one(&sum->file_count, d->file_count, replace);
    if (d->last_file_ms >= 0)
        sum->last_file_ms = replace ? d->last_file_ms : max(sum->last_file_ms, d->last_file_ms);
}
