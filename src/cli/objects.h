/* objects.h -- the sampled blocks that are alive, by object number */
#ifndef ALQI_CLI_OBJECTS_H
#define ALQI_CLI_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct alqi_cli_object {
    uint64_t id;
    uint64_t time_us;
    uint64_t length;
    uint64_t epoch; /* peaks seen before it was born, see analysis.c */
    uint64_t n_samples;
    uint32_t site;
    uint16_t rate;   /* estimate.h */
    uint16_t thread; /* or domain, where threads are not known */
    bool is_used;
    bool is_promoted;
};

struct alqi_cli_objects {
    struct alqi_cli_object *slots;
    size_t n_slots; /* a power of two */
    size_t n_alive;
};

void alqi_cli_objects_init(struct alqi_cli_objects *objects);
void alqi_cli_objects_free(struct alqi_cli_objects *objects);

/* NULL when the number is in use already; the caller fills what it gets.
 * Pointers to objects hold until the next add or remove. */
struct alqi_cli_object *alqi_cli_objects_add(struct alqi_cli_objects *objects,
                                             uint64_t id);
struct alqi_cli_object *
alqi_cli_objects_find(const struct alqi_cli_objects *objects, uint64_t id);
void alqi_cli_objects_remove(struct alqi_cli_objects *objects,
                             struct alqi_cli_object *object);

#endif
