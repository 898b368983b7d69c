/* phase.h -- the phases of a trace: from one mark to the next
 *                                                     [doc/design/marks.md]
 *
 * Phases are numbered from 0, which is what came before the first mark and has
 * the name "start"; phase k begins with mark k - 1.
 *
 * .def.name  A text means all phases of that name; with "#2" behind a name the
 *            second of them.  A text that is a name is not taken apart. */
#ifndef ALQI_VIEW_PHASE_H
#define ALQI_VIEW_PHASE_H

#include "view/index.h"

#define ALQI_VIEW_PHASE_FIRST "start"

static inline uint32_t
alqi_view_phases(const struct alqi_view_index *index)
{
    return index->n_marks + 1;
}

/* Of the time: its phase. */
uint32_t alqi_view_phase_at(const struct alqi_view_index *index, uint64_t us);

const char *alqi_view_phase_name(const struct alqi_view_index *index,
                                 uint32_t phase);

/* By which number its name has it, from 1 on; *n_same: how many have the
 * name. */
uint32_t alqi_view_phase_number(const struct alqi_view_index *index,
                                uint32_t phase, uint32_t *n_same);

/* Sets is_meant[] of alqi_view_phases() phases to 0 or 1 (.def.name); returns
 * how many are meant. */
uint32_t alqi_view_phase_find(const struct alqi_view_index *index,
                              const char *text, uint8_t *is_meant);

#endif
