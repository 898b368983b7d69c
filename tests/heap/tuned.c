/* tuned.c -- prints space_overhead, and whether the system says that this
 * process has rights that its user has not */
#include <stdio.h>
#include <sys/auxv.h>

#include <aliquot/aliquot.h>

int
main(void)
{
    struct alq_gc_control c;
    struct alq_domain *d;

    if (alq_domain_new(NULL, &d) != ALQ_OK || alq_gc_get(d, &c) != ALQ_OK)
        return 1;
    printf("%jd %lu\n", (intmax_t)c.space_overhead, getauxval(AT_SECURE));
    alq_domain_drop(d);
    return 0;
}
