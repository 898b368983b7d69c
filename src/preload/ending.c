/* ending.c -- the process waits with its end until it has been looked through
 *
 *   exit() --its handlers have run--> WAITS --the command--> LOOKED --> it ends
 *                                       '--no command reads the pipe--> it ends
 *
 * It is asked for by `aliquot record --leaks` (leaks=1).  What was freed until
 * then is free; other threads may run on meanwhile.
 *
 * .pair.ending  alqi_preload_ending() (release) -> the command, which maps the
 *               header: the recording up to now; and back: it has looked. */
#include <time.h>

#include "preload/file.h"
#include "preload/limit.h"
#include "preload/preload.h"

enum { ROUND_NS = 1000000, ROUNDS_A_LOOK = 200 };

/* .pair.ending */
void
alqi_preload_ending(void)
{
    const struct timespec round = {.tv_nsec = ROUND_NS};
    struct alqi_raw_header *header = alqi_preload_file_header();

    if (!alqi_preload_config.has_leaks ||
        alqi_plat_confinement_sigsafe() != ALQI_PLAT_FREE)
        return;
    atomic_store_explicit(&header->ending, ALQI_RAW_ENDING_WAITS,
                          memory_order_release);
    if (!alqi_preload_recorder_notify())
        return;
    for (unsigned n = 1;
         atomic_load_explicit(&header->ending, memory_order_acquire) ==
         ALQI_RAW_ENDING_WAITS;
         n++) {
        nanosleep(&round, NULL);
        if (n % ROUNDS_A_LOOK == 0 && !alqi_preload_recorder_is_there())
            return;
    }
}
