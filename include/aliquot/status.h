/* status.h -- result codes of every call that can fail
 *
 * A call that returns enum alq_status changes nothing unless it returns
 * ALQ_OK; its text says otherwise where that cannot hold. */
#ifndef ALIQUOT_STATUS_H
#define ALIQUOT_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#define ALQ_API __attribute__((visibility("default")))
#define ALQ_MUSTUSE __attribute__((warn_unused_result))

enum alq_status {
    ALQ_OK = 0,
    ALQ_EINVAL = 1,    /* an argument is out of its range                 */
    ALQ_EBUSY = 2,     /* in use, there already, or as many as may be      */
    ALQ_ENOMEM = 3,    /* no memory, or a heap's limit is reached          */
    ALQ_ENOTRUN = 4,   /* no profile is running                           */
    ALQ_ERUNNING = 5,  /* the profile is not stopped                      */
    ALQ_EGONE = 6,     /* the profile is discarded already                */
    ALQ_ENOHEAP = 7,   /* the preload is not loaded, or is off            */
    ALQ_ECALLBACK = 8, /* a callback failed; its code is in the domain    */
    ALQ_EIO = 9,       /* the system refused a read, a write or a mapping */
    ALQ_EFORMAT = 10,  /* the input is damaged or not of this format      */
    ALQ_EEXIST = 11,   /* the output exists and must not be overwritten   */
    ALQ_ENOTSUP = 12,  /* not on this system, in this build, or this value */
    ALQ_ESTATE = 13,   /* not in this thread, or not at this moment       */
    ALQ_ETOOBIG = 14,  /* larger than the call was told to allow          */
    ALQ_ESTACK = 15,   /* the stack is deeper than its limit              */
    ALQ_ELIMIT = 16    /* a limit of the running task is reached          */
};

/* alq_status_text -- one English line for a status code
 *
 * Returns  A string with static storage duration, never NULL; for a code that
 *          is not an enum alq_status, "unknown status".
 * Errors   None.
 * Threads  Any; async-signal-safe.
 * GC       No effect. */
ALQ_API const char *alq_status_text(enum alq_status status);

/* alq_version -- "MAJOR.MINOR.PATCH" of the library that runs
 *
 * Returns  A string with static storage duration.
 * Errors   None.
 * Threads  Any; async-signal-safe.
 * GC       No effect. */
ALQ_API const char *alq_version(void);

#ifdef __cplusplus
}
#endif
#endif
