/* objects.c -- see objects.h
 *
 * Linear probing with removal by shifting back, so that a table through which
 * ten million blocks pass holds no more than those alive at one time.
 *
 * .inv.load   At most two thirds of the slots are in use.
 * .inv.probe  From an object's home slot to its slot no slot is free. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/objects.h"

enum { SLOTS_FIRST = 1024 };

static size_t
home(const struct alqi_cli_objects *o, uint64_t id)
{
    return (size_t)alqi_base_mix(id) & (o->n_slots - 1);
}

static void
slots_new(struct alqi_cli_objects *o, size_t n)
{
    o->slots = alqi_cli_realloc(NULL, n, sizeof *o->slots);
    memset(o->slots, 0, n * sizeof *o->slots);
    o->n_slots = n;
}

void
alqi_cli_objects_init(struct alqi_cli_objects *o)
{
    slots_new(o, SLOTS_FIRST);
    o->n_alive = 0;
}

void
alqi_cli_objects_free(struct alqi_cli_objects *o)
{
    free(o->slots);
}

/* The object's slot, or the free one where it belongs. */
static struct alqi_cli_object *
slot_find(const struct alqi_cli_objects *o, uint64_t id)
{
    size_t i = home(o, id);

    while (o->slots[i].is_used && o->slots[i].id != id)
        i = (i + 1) & (o->n_slots - 1);
    return &o->slots[i];
}

static void
grow(struct alqi_cli_objects *o)
{
    struct alqi_cli_object *old = o->slots;
    size_t n = o->n_slots;

    slots_new(o, 2 * n);
    for (size_t i = 0; i < n; i++)
        if (old[i].is_used)
            *slot_find(o, old[i].id) = old[i];
    free(old);
}

struct alqi_cli_object *
alqi_cli_objects_add(struct alqi_cli_objects *o, uint64_t id)
{
    struct alqi_cli_object *slot;

    if (3 * (o->n_alive + 1) > 2 * o->n_slots)
        grow(o);
    slot = slot_find(o, id);
    if (slot->is_used)
        return NULL;
    memset(slot, 0, sizeof *slot);
    slot->id = id;
    slot->is_used = true;
    o->n_alive++;
    return slot;
}

struct alqi_cli_object *
alqi_cli_objects_find(const struct alqi_cli_objects *o, uint64_t id)
{
    struct alqi_cli_object *slot = slot_find(o, id);

    return slot->is_used ? slot : NULL;
}

void
alqi_cli_objects_remove(struct alqi_cli_objects *o,
                        struct alqi_cli_object *object)
{
    size_t mask = o->n_slots - 1;
    size_t hole = (size_t)(object - o->slots);

    for (size_t i = (hole + 1) & mask; o->slots[i].is_used;
         i = (i + 1) & mask) {
        size_t from_home = (i - home(o, o->slots[i].id)) & mask;

        /* Only what stands at or beyond the hole seen from its home may
         * move into it (.inv.probe). */
        if (from_home < ((i - hole) & mask))
            continue;
        o->slots[hole] = o->slots[i];
        hole = i;
    }
    o->slots[hole].is_used = false;
    o->n_alive--;
}
