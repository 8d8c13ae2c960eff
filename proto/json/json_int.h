/* json_int.h - private to proto/json: what reader and writer both know about the bytes of a string. */
#ifndef LATCH_PROTO_JSON_JSON_INT_H
#define LATCH_PROTO_JSON_JSON_INT_H

#include "proto/json/json.h"

#define NAME_SHOWN 64 /* bytes of a client's key in a message */
#define SHOWN(s)   (int)((s).len < NAME_SHOWN ? (s).len : NAME_SHOWN), (s).p

/* Length of the well-formed sequence at `text`, whose first byte is not ASCII (Unicode table 3-7);
 * 0 when there is none. */
size_t json_utf8_seq(const char *text, const char *end);

/* Bytes that stand for themselves in a string, on the way in and on the way out. */
static inline bool json_is_plain(char c)
{
    unsigned char u = (unsigned char)c;
    return u >= 0x20 && u < 0x80 && u != '"' && u != '\\';
}

#endif
