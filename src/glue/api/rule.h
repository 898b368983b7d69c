/* rule.h -- rules of heap.h that only a check can see broken
 *
 * Where the library checks (ALQI_CHECKS), a call that breaks one stops the
 * program with a line that names the call, the rule and what to do.  Where it
 * does not, nothing of this is compiled.
 *
 * .inv.quiet  While no thread runs a domain, its limit and store_max are all
 *             ones: allocation in a program that was compiled without checks
 *             comes to its slow part, where the rule is looked at, and so does
 *             a store into an old block.  After the domain's end, too.  */
#ifndef ALQI_GLUE_API_RULE_H
#define ALQI_GLUE_API_RULE_H

#include "heap/domain_thread.h"

/* Says why the calling thread must not call `function`, and aborts. */
_Noreturn void alqi_glue_rule_run_broken(const struct alq_domain *d,
                                         const char *function);
/* The calling thread runs the domain. */
static inline void
alqi_glue_rule_run(const struct alq_domain *d, const char *function)
{
    if (ALQI_UNLIKELY(!alqi_heap_thread_runs(d)))
        alqi_glue_rule_run_broken(d, function);
}

#if ALQI_CHECKS >= 1
#define ALQI_RULE_RUN(d) alqi_glue_rule_run((d), __func__)
#else
#define ALQI_RULE_RUN(d) ((void)0)
#endif

/* For a call that has a status for a domain that is NULL. */
#define ALQI_RULE_RUN_UNLESS_NULL(d) ((d) == NULL ? (void)0 : ALQI_RULE_RUN(d))

#endif
