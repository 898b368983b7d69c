/* event.c -- names of the collector's events                [aliquot/observe.h]
 */
#include <aliquot/observe.h>

#include "base/base.h"

static const struct {
    const char *name;
    const char *values[3][ALQ_EVENT_VALUES]; /* by enum alq_event_point */
} texts[] = {
    [ALQ_EVENT_PAUSE] = {"pause", {{0}, {"heap_bytes", "ready_bytes"}}},
    [ALQ_EVENT_MINOR] = {"minor",
                         {{"young_words", "remembered_fields"},
                          {"promoted_words"}}},
    [ALQ_EVENT_SLICE] = {"slice",
                         {{"asked_words"}, {"marked_words", "swept_words"}}},
    [ALQ_EVENT_MAJOR] = {"major", {{"short_of_memory"}, {"cycles"}}},
    [ALQ_EVENT_COMPACT] = {"compaction",
                           {{0}, {"given_back_bytes", "moved_bytes"}}},
    [ALQ_EVENT_STOP] = {"stop", {{0}, {"domains"}}},
    [ALQ_EVENT_FINALISE] = {"finalisers", {{0}, {"functions"}}},
    [ALQ_EVENT_CYCLE] = {"cycle", {{"number"}, {"live_words"}}},
    [ALQ_EVENT_MARK] = {"marking", {{0}, {"marked_words"}}},
    [ALQ_EVENT_EPHE] = {"ephemerons", {{0}, {"emptied_references"}}},
    [ALQ_EVENT_SWEEP] = {"sweeping", {{0}}},
    [ALQ_EVENT_GROW] = {"heap grows",
                        {{0}, {0}, {"ready_bytes", "before_bytes"}}},
    [ALQ_EVENT_SHRINK] = {"heap shrinks",
                          {{0}, {0}, {"ready_bytes", "before_bytes"}}},
    [ALQ_EVENT_DOMAIN_START] = {"domain starts", {{0}}},
    [ALQ_EVENT_DOMAIN_END] = {"domain ends", {{0}}},
    [ALQ_EVENT_HEAP_END] = {"heap ends", {{0}}},
};

_Static_assert(ALQI_COUNT_OF(texts) == ALQ_EVENT_KINDS, "each has a name");

const char *
alq_event_text(unsigned kind)
{
    return kind < ALQ_EVENT_KINDS ? texts[kind].name : "unknown";
}

const char *
alq_event_value_text(unsigned kind, unsigned point, unsigned index)
{
    if (kind >= ALQ_EVENT_KINDS || point > ALQ_EVENT_MOMENT ||
        index >= ALQ_EVENT_VALUES)
        return NULL;
    return texts[kind].values[point][index];
}
