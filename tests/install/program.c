/* What a user of the installed library writes first. */
#include <stdio.h>
#include <string.h>

#include <aliquot/aliquot.h>

int
main(void)
{
    char built_for[32];
    struct alq_profile *profile = NULL;

    snprintf(built_for, sizeof built_for, "%d.%d.%d", ALQ_VERSION_MAJOR,
             ALQ_VERSION_MINOR, ALQ_VERSION_PATCH);
    printf("version %s, ",
           strcmp(built_for, alq_version()) == 0 ? "matches" : "differs");
    printf("%s\n", alq_memprof_start(NULL, NULL, &alq_tracker_null, &profile) ==
                           ALQ_ENOHEAP
                       ? "no heap without the preload"
                       : "a heap from nowhere");
    return 0;
}
