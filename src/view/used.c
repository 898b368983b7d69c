/* used.c -- the functions that an answer names
 *
 * [ask.h] Names are long and repeat, so rows hold positions and the names
 * stand once, in the member "functions". Their bytes are estimated as
 * positions are given out, so that an answer can stop in time. */
#include <stdlib.h>
#include <string.h>

#include "view/ask.h"
#include "view/cxxname.h"
#include "view/whole.h"

/* Bytes of a function beside its texts: keys, marks, and a number of 10 digits;
 * and what a second side adds. */
enum { MEMBERS_BYTES = 76, OTHER_BYTES = 14 };

/* Room for a shortened name. */
enum { SHORT_BYTES = 1024, SHORT_KEY_BYTES = 9 };

/* Makes room for n functions. False: no memory. */
static bool
used_room(struct alqi_view_used *u, uint32_t n)
{
    u->position = calloc(n, sizeof *u->position);
    u->list = calloc(n, sizeof *u->list);
    return u->position != NULL && u->list != NULL;
}

bool
alqi_view_used_new(struct alqi_view_used *u, const struct alqi_view_index *x)
{
    *u = (struct alqi_view_used){.x = x};
    return used_room(u, x->n_functions);
}

bool
alqi_view_used_new_both(struct alqi_view_used *u,
                        const struct alqi_view_both *both)
{
    *u = (struct alqi_view_used){.x = both->a, .both = both};
    return used_room(u, both->n);
}

void
alqi_view_used_free(struct alqi_view_used *u)
{
    free(u->position);
    free(u->list);
}

void
alqi_view_used_clear(struct alqi_view_used *u)
{
    for (uint32_t i = 0; i < u->n; i++)
        u->position[u->list[i]] = 0;
    u->n = 0;
    u->bytes = 0;
}

/* The index that has a function's names; *function becomes its number there. */
static const struct alqi_view_index *
names_of(const struct alqi_view_used *u, uint32_t *function)
{
    return u->both != NULL ? alqi_view_both_names(u->both, function) : u->x;
}

/* Shortens a function's name. False: it is short, or is no function's: the
 * number in "thread worker (17)" is no parameter. */
static bool
shorten(const struct alqi_view_index *x, uint32_t function,
        char text[SHORT_BYTES])
{
    const char *name = alqi_view_text(x, x->functions[function].name);

    if (alqi_view_whole_kind(x, function) != NULL)
        return false;
    alqi_view_cxxname_shorten(text, SHORT_BYTES, name, ALQI_VIEW_NAME_COLUMNS);
    return strcmp(text, name) != 0;
}

/* The function's names are counted once, at its first use. */
uint32_t
alqi_view_used_position(struct alqi_view_used *u, uint32_t function)
{
    uint32_t number = function;
    const struct alqi_view_index *x;
    const struct alqi_view_function *f;
    char text[SHORT_BYTES];

    if (u->position[function] != 0)
        return u->position[function] - 1;
    u->list[u->n++] = function;
    u->position[function] = u->n;
    x = names_of(u, &number);
    f = &x->functions[number];
    u->bytes += MEMBERS_BYTES + (u->both != NULL ? OTHER_BYTES : 0) +
                alqi_view_json_bytes(alqi_view_text(x, f->name)) +
                alqi_view_json_bytes(alqi_view_text(x, f->file)) +
                alqi_view_json_bytes(alqi_view_text(x, f->module));
    if (shorten(x, number, text))
        u->bytes += SHORT_KEY_BYTES + alqi_view_json_bytes(text);
    return u->n - 1;
}

/* Writes the members name, short, file, module, and what kind it is of. */
static void
put_names(struct alqi_view_json *out, const struct alqi_view_index *x,
          uint32_t function)
{
    const struct alqi_view_function *f = &x->functions[function];
    const char *whole = alqi_view_whole_kind(x, function);
    char text[SHORT_BYTES];

    alqi_view_json_key_text(out, "name", alqi_view_text(x, f->name));
    if (shorten(x, function, text))
        alqi_view_json_key_text(out, "short", text);
    alqi_view_json_key_text(out, "file", alqi_view_text(x, f->file));
    alqi_view_json_key_text(out, "module", alqi_view_text(x, f->module));
    if ((f->flags & ALQI_VIEW_LIBRARY) != 0) {
        alqi_view_json_key(out, "library");
        alqi_view_json_bool(out, true);
    }
    if (whole != NULL)
        alqi_view_json_key_text(out, "whole", whole);
}

void
alqi_view_put_function(struct alqi_view_json *out,
                       const struct alqi_view_index *x, uint32_t function)
{
    alqi_view_json_open(out, '{');
    alqi_view_json_key_int(out, "id", alqi_view_id_of(x, function));
    put_names(out, x, function);
    alqi_view_json_close(out, '}');
}

/* Writes a number, or null where the side has no such function. */
static void
put_id(struct alqi_view_json *out, const char *key,
       const struct alqi_view_index *x, uint32_t function)
{
    alqi_view_json_key(out, key);
    if (function < x->n_functions)
        alqi_view_json_int(out, alqi_view_id_of(x, function));
    else
        alqi_view_json_null(out);
}

/* Writes a function of two sides, with its number on each. */
static void
put_both(struct alqi_view_json *out, const struct alqi_view_both *both,
         uint32_t function)
{
    uint32_t number = function;
    const struct alqi_view_index *x = alqi_view_both_names(both, &number);

    alqi_view_json_open(out, '{');
    put_id(out, "id", both->a, function);
    put_id(out, "b_id", both->b, both->b_of[function]);
    put_names(out, x, number);
    alqi_view_json_close(out, '}');
}

void
alqi_view_used_put(const struct alqi_view_used *u, struct alqi_view_json *out)
{
    alqi_view_json_key(out, "functions");
    alqi_view_json_open(out, '[');
    for (uint32_t i = 0; i < u->n; i++) {
        if (u->both != NULL)
            put_both(out, u->both, u->list[i]);
        else
            alqi_view_put_function(out, u->x, u->list[i]);
    }
    alqi_view_json_close(out, ']');
}
