/* config_text.c - the settings as people read them: --help and the example file.
 *
 * deploy/latch.conf is the output of config_file; a unit test fails when it is not. Pure. */
#include "server/config.h"

#include "server/config_value.h"

#define WIDTH 96

/* `text` in lines of at most WIDTH, each behind `indent`. */
static void wrap(struct buf *b, str text, const char *indent)
{
    size_t room = WIDTH - strlen(indent);
    while (text.len) {
        size_t n = text.len;
        if (n > room)
            for (n = room; n > 0 && text.p[n] != ' '; n--)
                continue;
        n = n ? n : text.len; /* one word that long: as it is */
        buf_addz(b, indent);
        buf_adds(b, str_n(text.p, n));
        buf_addc(b, '\n');
        text = str_trim(str_cut(text, n));
    }
}

static void facts(struct buf *b, const struct setting *s, const char *indent)
{
    CLEANUP(buf_done) struct buf line = {0};
    buf_addz(&line, "Allowed: ");
    value_allowed(&line, s);
    buf_addz(&line, s->when == WHEN_RELOAD ? ". SIGHUP takes a change over. "
                                           : ". A change needs a restart. ");
    buf_addz(&line, "Variable: ");
    config_env_name(&line, s->key);
    wrap(b, buf_str(&line), indent);
}

void config_help(struct buf *b)
{
    buf_addz(b,
             "usage: latch serve [--config FILE] [--KEY VALUE | --KEY=VALUE]...\n\n"
             "Settings come from, the later one wins: the default, the file (--config FILE or\n"
             "LATCH_CONFIG, else ./latch.conf if there is one), the environment (set to nothing\n"
             "counts as set), the flags. Every key is also a flag.\n");
    for (int i = 0; i < SETTING_COUNT; i++) {
        const struct setting *s = &settings[i];
        buf_addf(b, "\n  --%s (default: %s)\n", s->key, s->dflt[0] ? s->dflt : "empty");
        wrap(b, str_of(s->help), "      ");
        facts(b, s, "      ");
    }
}

void config_file(struct buf *b)
{
    buf_addz(
        b,
        "# latch.conf - made by `latch help config`. Every setting with its default; take the '#'\n"
        "# off a line to change it. One \"key = value\" a line. The environment and flags win\n"
        "# over this file, which is read from --config FILE, LATCH_CONFIG or ./latch.conf.\n");
    for (int i = 0; i < SETTING_COUNT; i++) {
        const struct setting *s = &settings[i];
        buf_addc(b, '\n');
        wrap(b, str_of(s->help), "# ");
        facts(b, s, "# ");
        buf_addf(b, "#%s =%s%s\n", s->key, s->dflt[0] ? " " : "", s->dflt);
    }
}
