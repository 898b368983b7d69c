/* stacks.h -- frames and stacks as other tools count them
 *
 * Frames with the same function, file, line and module are one; so are stacks
 * with the same frames.  Every exporter that has tables of such things starts
 * from here.
 *
 * .inv.number  Frames and stacks are numbered from 0 by first appearance in
 *              the analysis, so that equal traces give equal files. */
#ifndef ALQI_CLI_EXPORT_STACKS_H
#define ALQI_CLI_EXPORT_STACKS_H

#include <stddef.h>

#include "base/intern.h"
#include "cli/analysis/analysis.h"

struct alqi_cli_export_frame {
    struct alqi_cli_frame frame;
    uint64_t code; /* the first location code seen with it; 0: none */
};

struct alqi_cli_export_stack {
    uint32_t node; /* of the trie */
    /* of all sites that have the stack */
    struct alqi_cli_sum sums[ALQI_CLI_N_MEASURES];
};

struct alqi_cli_export_stacks {
    struct alqi_cli_export_frame *frames;
    uint32_t n_frames;
    struct alqi_base_intern frame_keys; /* numbers them, and ... */
    struct alqi_base_intern stack_keys; /* ... the stacks */
    uint32_t *function_of_frame;
    uint32_t *frame_of_function; /* the first that is of it */
    uint32_t n_functions;        /* frames that differ in the line are of one */
    uint32_t n_texts;            /* the largest in a frame, plus one */
    struct alqi_cli_stacks trie; /* its codes are frame + 1 */
    struct alqi_cli_export_stack *stacks;
    uint32_t n_stacks;
    uint32_t *stack_of_site; /* by the analysis's sites */
    uint32_t deepest;        /* frames in the longest stack */
};

/* A stack without frames gets one, "[no stack]". */
void alqi_cli_export_stacks_make(struct alqi_cli_export_stacks *stacks,
                                 struct alqi_cli_analysis *analysis);
void alqi_cli_export_stacks_free(struct alqi_cli_export_stacks *stacks);

/* Writes the frame numbers of a stack, outermost first, into room for deepest
 * of them; returns how many there are. */
uint32_t
alqi_cli_export_stack_frames(const struct alqi_cli_export_stacks *stacks,
                             uint32_t stack, uint32_t *frames);

/* The frame's source file; ALQI_CLI_NO_NAME also where its module stands for it
 * because the file is not known. */
static inline uint32_t
alqi_cli_export_source(const struct alqi_cli_frame *frame)
{
    return frame->file == frame->module && frame->line <= 0 ? ALQI_CLI_NO_NAME
                                                            : frame->file;
}

/* Two names (names.c cuts them at 2047 bytes) with something around them. */
enum { ALQI_CLI_EXPORT_TEXT_MAX = 4608 };

/* A frame as Valgrind's tools write it: "0x401136: function (file:line)", or
 * "(in module)" at the end. */
void alqi_cli_export_frame_text(char *out, size_t capacity,
                                const struct alqi_cli_names *names,
                                const struct alqi_cli_export_frame *frame);

#define ALQI_CLI_FIELD(name) offsetof(struct alqi_cli_sum, name)

/* A field of the stacks' sums that is a double, as integers that add up to the
 * rounded total of the report; to be freed by the caller. */
int64_t *
alqi_cli_export_stack_column(const struct alqi_cli_export_stacks *stacks,
                             const struct alqi_cli_analysis *analysis,
                             enum alqi_cli_measure measure, size_t field);

#endif
