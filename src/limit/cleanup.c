/* cleanup.c -- registered clean-ups, run when longjmp leaves their scope
 *
 *     registered --taken off--> runs, masked --> done
 *
 * .inv.cleanup  Each runs once: it is taken off before it is called. */
#include "base/base.h"
#include "limit/limit.h"

void
alqi_limit_cleanup(struct alqi_limit_thread *t, struct alq_cleanup *until)
{
    uint32_t was = alqi_limit_mask(t);

    while (t->cleanups != until) {
        struct alq_cleanup *c = t->cleanups;

        ALQI_ASSERT(c != NULL);
        t->cleanups = c->outer;
        c->run(t->domain, c->arg);
    }
    t->masked = was;
}
