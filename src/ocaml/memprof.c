/* memprof.c -- Gc.Memprof: not hosted yet
 *
 * Start fails with a message; nothing is sampled. */
#include "ocaml/contract.h"

ALQI_OCAML_API value
caml_memprof_start(value rate, value depth, value tracker)
{
    (void)rate;
    (void)depth;
    (void)tracker;
    caml_failwith("Gc.Memprof.start: not in the runtime variant aliquot yet");
}

ALQI_OCAML_API value
caml_memprof_stop(value unit)
{
    (void)unit;
    caml_failwith("Gc.Memprof.stop: no profile running.");
}

ALQI_OCAML_API value
caml_memprof_discard(value profile)
{
    (void)profile;
    return ALQI_OCAML_UNIT;
}

ALQI_OCAML_API void
caml_memprof_sample_block(value block, size_t words, size_t sampled_words,
                          int source)
{
    (void)block;
    (void)words;
    (void)sampled_words;
    (void)source;
}

ALQI_OCAML_API void
caml_memprof_update_suspended(bool is_suspended)
{
    (void)is_suspended;
}

ALQI_OCAML_API struct caml_result
caml_memprof_run_callbacks_res(void)
{
    return ALQI_OCAML_RESULT_UNIT;
}

/* Of systhreads, which takes NULL for a lack of memory. */
static char no_state;

ALQI_OCAML_API void *
caml_memprof_new_thread(struct caml_domain_state *state)
{
    (void)state;
    return &no_state;
}

ALQI_OCAML_API void *
caml_memprof_main_thread(struct caml_domain_state *state)
{
    (void)state;
    return &no_state;
}

ALQI_OCAML_API void
caml_memprof_enter_thread(void *thread)
{
    (void)thread;
}

ALQI_OCAML_API void
caml_memprof_delete_thread(void *thread)
{
    (void)thread;
}
