/* err.c - the names of codes and resource types.
 *
 * Names of codes are for logs and tests. Names of resource types are what Paimon's ErrorResponse
 * carries as resourceType. Pure; any thread. */
#include "proto/base/err.h"

static const char *const code_names[] = {
    [-E_OK] = "E_OK",
    [-E_INVAL] = "E_INVAL",
    [-E_UNAUTH] = "E_UNAUTH",
    [-E_DENIED] = "E_DENIED",
    [-E_NOTFOUND] = "E_NOTFOUND",
    [-E_EXISTS] = "E_EXISTS",
    [-E_CONFLICT] = "E_CONFLICT",
    [-E_RACE] = "E_RACE",
    [-E_TOOBIG] = "E_TOOBIG",
    [-E_BUSY] = "E_BUSY",
    [-E_TIMEOUT] = "E_TIMEOUT",
    [-E_UNSUPPORTED] = "E_UNSUPPORTED",
    [-E_METHOD] = "E_METHOD",
    [-E_IO] = "E_IO",
    [-E_CORRUPT] = "E_CORRUPT",
    [-E_NOMEM] = "E_NOMEM",
    [-E_INTERNAL] = "E_INTERNAL",
    [-E_UNKNOWN] = "E_UNKNOWN",
    [-E_STATE] = "E_STATE",
    [-E_NEED] = "E_NEED",
};
_Static_assert(sizeof(code_names) / sizeof(code_names[0]) == ERR_CODES, "a name for every code");

static const char *const res_names[] = {
    [RES_NONE] = NULL,           [RES_DATABASE] = "DATABASE",
    [RES_TABLE] = "TABLE",       [RES_PARTITION] = "PARTITION",
    [RES_COLUMN] = "COLUMN",     [RES_SNAPSHOT] = "SNAPSHOT",
    [RES_BRANCH] = "BRANCH",     [RES_TAG] = "TAG",
    [RES_VIEW] = "VIEW",         [RES_DIALECT] = "DIALECT",
    [RES_FUNCTION] = "FUNCTION", [RES_DEFINITION] = "DEFINITION",
    [RES_CONFLICT] = "CONFLICT",
};

const char *err_name(int code)
{
    return code <= 0 && code > -ERR_CODES ? code_names[-code] : "E_?";
}

const char *res_name(enum res r)
{
    return (unsigned)r < sizeof(res_names) / sizeof(res_names[0]) ? res_names[r] : NULL;
}
