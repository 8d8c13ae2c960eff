/* layout.h - where the files of a table lie, relative to the warehouse root, and what their names
 * mean. Pure text; nothing here touches a disk.
 *
 * `dir` is the table's directory ("" = the root itself), `branch` a branch name: "main", "" and
 * STR_NONE all mean the table root, any other one lies at <dir>/branch/branch-<name>. Branches have
 * their own schema, snapshot, changelog, tag and consumer folders and share manifest, index and
 * statistics with main.
 *
 * Results live in the arena. STR_NONE (p == NULL) means no memory, or that a name is no
 * path_component: check names where they come in, so that only the first is left here. */
#ifndef LATCH_MANIFEST_LAYOUT_H
#define LATCH_MANIFEST_LAYOUT_H

#include "proto/base/arena.h"
#include "proto/base/str.h"

bool layout_is_main(str branch);
str layout_root(struct arena *a, str dir, str branch);

/* Folders. */
str layout_schema_dir(struct arena *a, str dir, str branch);
str layout_snapshot_dir(struct arena *a, str dir, str branch);
str layout_changelog_dir(struct arena *a, str dir, str branch);
str layout_tag_dir(struct arena *a, str dir, str branch);
str layout_consumer_dir(struct arena *a, str dir, str branch);
str layout_branch_dir(struct arena *a, str dir); /* holds branch-<name> folders */
str layout_manifest_dir(struct arena *a, str dir);
str layout_index_dir(struct arena *a, str dir);
str layout_statistics_dir(struct arena *a, str dir);

/* Files. Ids are not negative. */
str layout_schema(struct arena *a, str dir, str branch, int64_t id);
str layout_snapshot(struct arena *a, str dir, str branch, int64_t id);
str layout_changelog(struct arena *a, str dir, str branch, int64_t id);
str layout_latest(struct arena *a, str dir, str branch);   /* hint of the snapshot folder */
str layout_earliest(struct arena *a, str dir, str branch); /* hint of the snapshot folder */
str layout_tag(struct arena *a, str dir, str branch, str name);
str layout_consumer(struct arena *a, str dir, str branch, str id);
str layout_manifest(struct arena *a, str dir, str name); /* lists and index manifests too */
str layout_statistics(struct arena *a, str dir, str name);

/* File names. Exact: "snapshot-" and a decimal without sign, blanks or leading zeros that fits
 * int64. Snapshots and changelogs count from 1, schemas from 0. False leaves *ret alone. */
bool layout_snapshot_id(str file_name, int64_t *ret);
bool layout_schema_id(str file_name, int64_t *ret);
bool layout_changelog_id(str file_name, int64_t *ret);
/* "tag-<name>" and so on: what follows the prefix, which is not empty. */
bool layout_tag_name(str file_name, str *ret);
bool layout_branch_name(str file_name, str *ret);
bool layout_consumer_name(str file_name, str *ret);
/* ".<name>.<uuid>.tmp": what writers leave beside the file that they were about to publish. */
bool layout_is_temp(str file_name);

/* Hint files hold one decimal in ASCII. */
str layout_hint_text(struct arena *a, int64_t id);

#endif
