/* limits.h -- limits on tasks of OCaml's code             [doc/design/ocaml.md]
 *
 * A limit is told where an exception may be raised: in an allocation of OCaml's
 * code, and where pending actions run.  C code's allocations are counted, and
 * make the next of these places look. */
#ifndef ALQI_OCAML_LIMITS_H
#define ALQI_OCAML_LIMITS_H

#include "heap/alloc.h"
#include "heap/limit_trigger_check.h"
#include "ocaml/thread.h"

/* Whether a task runs in the thread that runs the domain. */
static inline bool
alqi_ocaml_limits_are_open(const struct alqi_domain *d)
{
    return __builtin_expect(d->limit_trigger.hooks != NULL, 0);
}

/* Another of OCaml's threads runs the domain from now on; NULL: `from` has
 * ended. */
void alqi_ocaml_limits_switch(struct alqi_domain *d,
                              struct alqi_ocaml_limits *from,
                              struct alqi_ocaml_limits *to);

/* Serves the heap's requests.  No limit is asked, since the caller may not
 * raise. */
void alqi_ocaml_limits_heap_poll(struct alqi_domain *d);

/* Asks the limits where actions run; an exception: one is reached. */
struct caml_result alqi_ocaml_limits_poll(void);

/* Before an allocation of OCaml's code asks. */
void alqi_ocaml_limits_ready_slow(struct alqi_domain *d);

static inline void
alqi_ocaml_limits_ready(struct alqi_domain *d)
{
    if (alqi_ocaml_limits_are_open(d))
        alqi_ocaml_limits_ready_slow(d);
}

/* C code has a block, in the minor heap or in the major one, or one that holds
 * memory outside. */
void alqi_ocaml_limits_small_slow(struct alqi_domain *d);

static inline void
alqi_ocaml_limits_small(struct alqi_domain *d)
{
    if (alqi_ocaml_limits_are_open(d))
        alqi_ocaml_limits_small_slow(d);
}

void alqi_ocaml_limits_outside(struct alqi_domain *d, size_t words);

/* Handlers of signals may run until the same level of calls comes back here. */
void alqi_ocaml_limits_handlers_slow(struct alqi_domain *d);

static inline void
alqi_ocaml_limits_handlers(struct alqi_domain *d)
{
    if (alqi_ocaml_limits_are_open(d))
        alqi_ocaml_limits_handlers_slow(d);
}

/* An allocation was refused since a limit is reached. */
void alqi_ocaml_limits_raise(void) __attribute__((noreturn));

#endif
