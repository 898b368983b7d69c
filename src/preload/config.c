/* config.c -- the variable ALIQUOT, and leaving no trace in the environment
 *
 *   ALIQUOT=key=value,key=value,...,out=PATTERN
 *
 *   interval=BYTES  mean bytes between samples     rate=R  samples per word
 *   depth=N         frames kept                    seed=N  0: from the system
 *   exact=0|1       every block; rate is what takes over when its tables have
 *   max_memory=BYTES                                0: no cap
 *   follow=0|1      exec'd programs are recorded   mmap=0|1
 *   rss=0|1         resident memory over time; 1 unless given
 *   preload=PATH    the LD_PRELOAD entry to take out again
 *   out=PATTERN     the rest of the text, commas included
 *
 * An unknown key is a warning that names it, never an abort. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preload/preload.h"

enum { DEPTH_FRAMES_DEFAULT = 256 };

struct alqi_preload_config alqi_preload_config = {
    .rate = 0,
    .depth_frames = DEPTH_FRAMES_DEFAULT,
};

static char own_path[1024]; /* our entry in LD_PRELOAD */

static void
warn(const char *what, const char *key, size_t n)
{
    char text[300];

    snprintf(text, sizeof text, "ALIQUOT: %s '%.*s'", what,
             (int)(n < 200 ? n : 200), key);
    alqi_preload_say(text);
}

static bool
is_key(const char *pair, size_t n, const char *key)
{
    return n == strlen(key) && memcmp(pair, key, n) == 0;
}

static bool
number_parse(const char *text, size_t n, double *value)
{
    char copy[64];
    char *end;

    if (n == 0 || n >= sizeof copy)
        return false;
    memcpy(copy, text, n);
    copy[n] = '\0';
    *value = strtod(copy, &end);
    return *end == '\0';
}

static bool
pair_apply(const char *key, size_t n_key, const char *text, size_t n)
{
    struct alqi_preload_config *c = &alqi_preload_config;
    double v;

    if (is_key(key, n_key, "preload")) {
        if (n < sizeof own_path)
            memcpy(own_path, text, n);
        return n < sizeof own_path;
    }
    if (is_key(key, n_key, "seed")) {
        c->seed = strtoull(text, NULL, 0);
        return true;
    }
    if (!number_parse(text, n, &v))
        return false;
    if (is_key(key, n_key, "interval") && v >= ALQI_WORD_BYTES)
        c->rate = ALQI_WORD_BYTES / v;
    else if (is_key(key, n_key, "rate") && v >= 0 && v <= 1)
        c->rate = v;
    else if (is_key(key, n_key, "depth") && v >= 1 && v <= ALQI_RAW_FRAMES_MAX)
        c->depth_frames = (uint32_t)v;
    else if (is_key(key, n_key, "exact"))
        c->is_exact = v != 0;
    else if (is_key(key, n_key, "max_memory") && v >= 0)
        c->max_memory_bytes = (uint64_t)v;
    else if (is_key(key, n_key, "follow"))
        c->is_following = v != 0;
    else if (is_key(key, n_key, "mmap"))
        c->is_tracking_mmap = v != 0;
    else if (is_key(key, n_key, "rss"))
        c->has_no_rss = v == 0;
    else
        return false;
    return true;
}

static void
text_parse(const char *text)
{
    while (*text != '\0') {
        const char *equals = strchr(text, '=');
        size_t n_key, n_value;

        if (equals == NULL) {
            warn("no '=' in", text, strlen(text));
            return;
        }
        n_key = (size_t)(equals - text);
        if (is_key(text, n_key, "out")) {
            if (strlen(equals + 1) >= sizeof alqi_preload_config.out) {
                warn("too long:", text, strlen(text));
                return;
            }
            strcpy(alqi_preload_config.out, equals + 1);
            return;
        }
        n_value = strcspn(equals + 1, ",");
        if (!pair_apply(text, n_key, equals + 1, n_value))
            warn("unknown key or value out of range:", text,
                 n_key + 1 + n_value);
        text = equals + 1 + n_value;
        text += *text == ',';
    }
}

/* ---- the environment -------------------------------------------------------
 */

static char **
variable_find(char **envp, const char *name)
{
    size_t n = strlen(name);

    for (; envp != NULL && *envp != NULL; envp++)
        if (strncmp(*envp, name, n) == 0 && (*envp)[n] == '=')
            return envp;
    return NULL;
}

/* In place: main()'s third argument and environ are one array. */
static void
variable_remove(char **at)
{
    do
        at[0] = at[1];
    while (*at++ != NULL);
}

/* Takes our entry, and the separator behind or before it, out of the list. */
static void
preload_entry_remove(char **envp)
{
    char **at = variable_find(envp, "LD_PRELOAD");
    size_t n = strlen(own_path);
    char *list, *p;

    if (at == NULL || n == 0)
        return;
    list = *at + strlen("LD_PRELOAD=");
    p = strstr(list, own_path);
    if (p == NULL)
        return;
    if (p[n] == ':' || p[n] == ' ')
        n++;
    else if (p > list)
        p--, n++;
    memmove(p, p + n, strlen(p + n) + 1);
    if (*list == '\0')
        variable_remove(at);
}

void
alqi_preload_config_read(char **envp)
{
    char **at = variable_find(envp, "ALIQUOT");

    if (at == NULL)
        return;
    text_parse(*at + strlen("ALIQUOT="));
    alqi_preload_config.is_on = alqi_preload_config.out[0] != '\0';
    if (!alqi_preload_config.is_following) {
        variable_remove(at);
        preload_entry_remove(envp);
    }
}
