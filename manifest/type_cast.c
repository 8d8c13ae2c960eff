/* type_cast.c - the table of casts between types.
 *
 * Source: paimon-api DataTypeCasts (which casts are allowed, implicit or explicit) and paimon-common
 * CastExecutors with its rules (which casts can be carried out); a change of a column's type needs
 * both. The rows are target types, the bits source types. No state; any thread. */
#include "manifest/type_cast.h"

#define BIT(k)     ((uint32_t)1 << TYPE_##k)
#define TEXT       (BIT(CHAR) | BIT(VARCHAR))
#define BYTES_     (BIT(BINARY) | BIT(VARBINARY))
#define INTEGERS   (BIT(TINYINT) | BIT(SMALLINT) | BIT(INT) | BIT(BIGINT))
#define REALS      (BIT(FLOAT) | BIT(DOUBLE))
#define NUMERIC    (INTEGERS | REALS | BIT(DECIMAL))
#define TIMESTAMPS (BIT(TIMESTAMP) | BIT(TIMESTAMP_LTZ))
#define DATETIMES  (BIT(DATE) | BIT(TIME) | TIMESTAMPS)
#define NESTED     (BIT(ARRAY) | BIT(VECTOR) | BIT(MULTISET) | BIT(MAP) | BIT(ROW))
#define GEO        (BIT(GEOMETRY) | BIT(GEOGRAPHY))
#define ALL        (((uint32_t)1 << TYPE_KINDS) - 1)
#define TO_NUMBER  (NUMERIC | TEXT | BIT(BOOLEAN) | TIMESTAMPS) /* explicit, into a number */
_Static_assert(TYPE_KINDS <= 32, "a kind is a bit");

static const struct casts {
    uint32_t implicit, explicit; /* allowed */
    uint32_t can;                /* carried out */
} casts[TYPE_KINDS] = {
    [TYPE_CHAR] = {BIT(CHAR), ALL & ~GEO,
                   TEXT | NUMERIC | BIT(BOOLEAN) | BYTES_ | BIT(ARRAY) | BIT(MAP) | BIT(ROW)},
    [TYPE_VARCHAR] = {TEXT, ALL & ~GEO,
                      TEXT | NUMERIC | BIT(BOOLEAN) | BYTES_ | BIT(ARRAY) | BIT(MAP) | BIT(ROW)},
    [TYPE_BOOLEAN] = {BIT(BOOLEAN), TEXT | INTEGERS, TEXT | INTEGERS},
    [TYPE_BINARY] = {BIT(BINARY), TEXT | BIT(VARBINARY), TEXT | BYTES_},
    [TYPE_VARBINARY] = {BYTES_, TEXT | BIT(BINARY), TEXT | BYTES_},
    [TYPE_DECIMAL] = {NUMERIC, TO_NUMBER, NUMERIC | BIT(BOOLEAN) | TEXT},
    [TYPE_TINYINT] = {BIT(TINYINT), TO_NUMBER, NUMERIC | BIT(BOOLEAN) | TEXT},
    [TYPE_SMALLINT] = {BIT(TINYINT) | BIT(SMALLINT), TO_NUMBER, NUMERIC | BIT(BOOLEAN) | TEXT},
    [TYPE_INT] = {BIT(TINYINT) | BIT(SMALLINT) | BIT(INT), TO_NUMBER,
                  NUMERIC | BIT(BOOLEAN) | TEXT | TIMESTAMPS},
    [TYPE_BIGINT] = {INTEGERS, TO_NUMBER, NUMERIC | BIT(BOOLEAN) | TEXT | TIMESTAMPS},
    [TYPE_FLOAT] = {INTEGERS | BIT(FLOAT) | BIT(DECIMAL), TO_NUMBER, NUMERIC | BIT(BOOLEAN) | TEXT},
    [TYPE_DOUBLE] = {NUMERIC, TO_NUMBER, NUMERIC | BIT(BOOLEAN) | TEXT},
    [TYPE_DATE] = {BIT(DATE) | BIT(TIMESTAMP), TIMESTAMPS | TEXT, TEXT | TIMESTAMPS},
    [TYPE_TIME] = {BIT(TIME) | BIT(TIMESTAMP), BIT(TIME) | TIMESTAMPS | TEXT, TEXT | TIMESTAMPS},
    [TYPE_TIMESTAMP] = {TIMESTAMPS, DATETIMES | TEXT | NUMERIC,
                        DATETIMES | TEXT | BIT(INT) | BIT(BIGINT)},
    [TYPE_TIMESTAMP_LTZ] = {TIMESTAMPS, DATETIMES | TEXT | NUMERIC,
                            DATETIMES | TEXT | BIT(INT) | BIT(BIGINT)},
};

bool types_may_cast(const struct data_type *from, const struct data_type *to, bool explicit_too)
{
    const struct casts *c = &casts[to->kind];
    uint32_t bit = (uint32_t)1 << from->kind, can = c->can;
    if (from->nullable && !to->nullable && !explicit_too)
        return false;
    /* These rules are for STRING itself, not for any VARCHAR, nor for STRING NOT NULL. */
    if (to->kind == TYPE_VARCHAR && to->length == TYPE_LENGTH_MAX && to->nullable)
        can |= DATETIMES;
    uint32_t allowed = c->implicit | (explicit_too ? c->explicit : 0);
    return (allowed & can & bit) != 0;
}
