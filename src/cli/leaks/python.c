/* python.c -- an interpreter whose small objects nobody records
 *
 * They lie in arenas of its own.  A recording by samples that began with the
 * program has them (preload/python_small.c); an exact one, or a later one, has
 * them only if PYTHONMALLOC has made them malloc's. */
#include "cli/leaks/leaks.h"
#include "cli/tool/proc.h"

const char *
alqi_cli_leaks_python(const struct alqi_cli_leaks_run *r)
{
    const struct alqi_raw_header *h = alqi_cli_recording_header(r->recording);

    if ((atomic_load(&h->flags) & (ALQI_RAW_IS_EXACT | ALQI_RAW_LATE)) == 0 ||
        alqi_cli_proc_has(r->core.target.pid, "environ", '\0',
                          "PYTHONMALLOC=malloc"))
        return NULL;
    return alqi_cli_leak_places_exporter(r->places, "_PyRuntime");
}
