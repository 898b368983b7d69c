/* timeline.h -- live bytes over time */
#ifndef ALQI_VIEW_TIMELINE_H
#define ALQI_VIEW_TIMELINE_H

#include "view/scan.h"
#include "view/set.h"

/* The greatest live bytes of the rows that pass, NULL: of all, in n steps of
 * step_us from the trace's start; what comes later is in the last.  False: no
 * memory; else levels->bytes is the caller's to free. */
bool alqi_view_levels_make(struct alqi_view_levels *levels,
                           const struct alqi_view_index *index,
                           const struct alqi_view_scan *scan, uint64_t step_us,
                           uint32_t n);

#endif
