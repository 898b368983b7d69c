/* status.c -- what a status means, in words for a user; the version
 *
 * A table by number.  A number without a row has a text, too, so no caller
 * has to check. */
#include <aliquot/status.h>

#include "base/base.h"

static const char *const texts[] = {
    [ALQ_OK] = "success",
    [ALQ_EINVAL] = "an argument is out of range",
    [ALQ_EBUSY] = "in use, there already, or as many as there may be",
    [ALQ_ENOMEM] = "no memory",
    [ALQ_ENOTRUN] = "no profile is running",
    [ALQ_ERUNNING] = "the profile is not stopped",
    [ALQ_EGONE] = "the profile is discarded already",
    [ALQ_ENOHEAP] = "no heap to watch: the preload is not loaded, or is off",
    [ALQ_ECALLBACK] = "a callback failed",
    [ALQ_EIO] = "input or output failed",
    [ALQ_EFORMAT] = "the input is damaged or of another format",
    [ALQ_EEXIST] = "the output exists already",
    [ALQ_ENOTSUP] = "not supported here",
    [ALQ_ESTATE] = "not allowed in this thread, or at this moment",
    [ALQ_ETOOBIG] = "larger than what was allowed",
    [ALQ_ESTACK] = "the stack is deeper than its limit",
    [ALQ_ELIMIT] = "a limit of the running task is reached",
};

const char *
alq_status_text(enum alq_status status)
{
    size_t i = (size_t)status;

    if (i >= ALQI_COUNT_OF(texts) || texts[i] == NULL)
        return "unknown status";
    return texts[i];
}

const char *
alq_version(void)
{
    return ALQI_VERSION;
}
