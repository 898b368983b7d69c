/* recorder.c -- <aliquot/control.h> for malloc: to the preload
 *
 * Where the preload is loaded before this library its own calls of these names
 * come first; these are for a program that has the library within it. */
#include <aliquot/control.h>

#include "glue/join/preload.h"

#define RETURN_CALL(name, ...)                                                 \
    const struct alqi_preload_api *api = alqi_glue_preload();                  \
                                                                               \
    return api != NULL ? api->name(__VA_ARGS__) : ALQ_ENOHEAP

enum alq_status
alq_recorder_start(double rate, const char *out)
{
    RETURN_CALL(recorder_start, rate, out);
}

enum alq_status
alq_recorder_stop(void)
{
    RETURN_CALL(recorder_stop);
}

enum alq_status
alq_recorder_end(void)
{
    RETURN_CALL(recorder_end);
}

enum alq_status
alq_recorder_mark(const char *name)
{
    RETURN_CALL(recorder_mark, name);
}

enum alq_status
alq_recorder_forget(void)
{
    RETURN_CALL(recorder_forget);
}
