/* rule.c -- see rule.h: which rule was broken, and what to do
 *
 * Comes to the first reason that holds: no domain, one that has ended, a
 * blocking section, another domain's thread, an unattached thread. */
#include <aliquot/heap.h>

#include "glue/api/rule.h"
#include "heap/domain.h"

/* The domain's memory stays, so that a use after its end can be told. */
static bool
is_ended(const struct alqi_domain *d)
{
    return !__atomic_load_n(&d->is_used, __ATOMIC_RELAXED) ||
           !alqi_heap_is_there(d);
}

/* Which of the reasons it is; the tests are in the order of the head. Does not
 * return. */
void
alqi_glue_rule_run_broken(const struct alq_domain *d, const char *function)
{
    const struct alqi_domain *of = (const struct alqi_domain *)d;

    if (d == NULL)
        alqi_base_misuse(function, "the domain is NULL",
                         "pass what alq_domain_new or alq_domain_self gave");
    if (is_ended(of))
        alqi_base_misuse(function, "the domain has ended",
                         "call nothing with it after alq_domain_drop");
    if (alqi_heap_thread_is_blocking(of))
        alqi_base_misuse(function,
                         "the calling thread is in a blocking section of the "
                         "domain",
                         "end it first, with alq_blocking_end");
    if (alqi_heap_thread_domain() != NULL)
        alqi_base_misuse(function, "the calling thread runs another domain",
                         "pass that one: alq_domain_self");
    alqi_base_misuse(function, "the calling thread does not run the domain",
                     "attach it first, with alq_thread_attach");
}

/* Whether a small block may have this header; else says so, and aborts. */
static void
rule_small(uintptr_t wosize, unsigned tag, const char *function)
{
    if (ALQI_UNLIKELY(wosize - 1 >= ALQ_SMALL_WOSIZE_MAX))
        alqi_base_misuse(function, "a small block has 1 to 256 fields",
                         "use alq_alloc for other sizes");
    if (ALQI_UNLIKELY(tag > ALQ_TAG_CUSTOM))
        alqi_base_misuse(function, "a tag is at most 255",
                         "keep what is more in a field");
}

void
alq_check_domain(const struct alq_domain *d, const char *function)
{
    alqi_glue_rule_run(d, function);
}

void
alq_check_small(const struct alq_domain *d, uintptr_t wosize, unsigned tag,
                const char *function)
{
    alqi_glue_rule_run(d, function);
    rule_small(wosize, tag, function);
}
