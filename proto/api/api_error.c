/* api_error.c - the one table from error codes to HTTP, and Paimon's ErrorResponse.
 *
 * Java and Python clients turn 404, 409, 501 and 503 into typed exceptions by the code in the body,
 * and tell tables from snapshots by resourceType. Java sends a request again after 429 and 503
 * only, so 503 must mean that nothing was done; an outcome that is not known is a 500.
 *
 * Paimon's Java client takes the message of a 400 and a 501 as a format (String.format without
 * arguments), so that a percent sign in it, from a name or a pattern that the message repeats, ends in
 * an UnknownFormatConversionException instead of the message. There it is written as U+FF05, the wide
 * percent sign, which every client shows and none reads as more.
 *
 * Pure; any thread. */
#include "proto/api/api_error.h"

#include "proto/json/json.h"

int api_error_status(int code)
{
    switch ((enum err)code) {
    case E_OK:
        break;
    case E_INVAL:
        return 400;
    case E_UNAUTH:
        return 401;
    case E_DENIED:
        return 403;
    case E_NOTFOUND:
        return 404;
    case E_METHOD:
        return 405;
    case E_EXISTS:
    case E_CONFLICT:
    case E_RACE:
        return 409;
    case E_TOOBIG:
        return 413;
    case E_UNSUPPORTED:
        return 501;
    case E_BUSY:
    case E_TIMEOUT:
        return 503;
    case E_IO:
    case E_CORRUPT:
    case E_NOMEM:
    case E_INTERNAL:
    case E_UNKNOWN:
    case E_STATE:
    case E_NEED:
        return 500;
    }
    return 500;
}

bool api_error_retry(int code)
{
    return api_error_status(code) == 503;
}

/* For a record without a text: better a dull message than none. */
static str message_of(const struct err_rec *e, int http_status)
{
    if (e->msg[0])
        return str_of(e->msg);
    if (http_status >= 500)
        return STR_LIT("the server could not do this; its log says why");
    return STR_LIT("the request was refused");
}

#define WIDE_PERCENT "\xEF\xBC\x85"

/* The message as it may be sent. Without memory for a copy it is sent as it is. */
static str sendable(struct buf *room, str msg, int http_status)
{
    if ((http_status != 400 && http_status != 501) || str_find(msg, '%') < 0)
        return msg;
    for (size_t i = 0; i < msg.len; i++)
        if (msg.p[i] == '%')
            buf_adds(room, STR_LIT(WIDE_PERCENT));
        else
            buf_addc(room, msg.p[i]);
    return buf_fail(room) ? msg : buf_str(room);
}

void api_error_body(struct buf *b, const struct err_rec *e, int http_status)
{
    CLEANUP(buf_done) struct buf room = {0};
    struct json_out o;
    json_out_init(&o, b);
    json_obj(&o);
    json_kstr(&o, "message", sendable(&room, message_of(e, http_status), http_status));
    json_kstr(&o, "resourceType", str_of(res_name(e->res)));
    json_kstr(&o, "resourceName", e->res_name[0] ? str_of(e->res_name) : STR_NONE);
    json_ki64(&o, "code", http_status);
    json_end(&o);
}
