/* layout.c -- the layouts of the versions that are known */
#include <stddef.h>

#include "base/base.h"
#include "python/layout.h"

/* Code objects and texts of 3.8 to 3.10. */
#define OBJECTS_TO_3_10                                                        \
    .code_first_line = 40, .code_file = 104, .code_name = 112,                 \
    .code_lines = 120, .code_bytes = 128, .type = 8, .size = 16,               \
    .bytes_data = 32, .text_state = 32, .text_ascii_data = 48, .text_data = 72

/* Frames, code objects and texts from 3.12 on. */
#define FRAMES_FROM_3_12                                                       \
    .frame_code = 0, .frame_previous = 8, .frame_instr = 56,                   \
    .code_first_line = 68, .code_file = 112, .code_name = 128,                 \
    .code_lines = 136, .type = 8, .size = 16, .bytes_data = 32,                \
    .text_state = 32, .text_ascii_data = 40, .text_data = 56

/* "Run" is a version that tests/python was run with. */
static const struct alqi_python_layout layouts[] = {
    {
        .version = 0x0308, /* 3.8 and 3.9: run */
        .version_last = 0x0309,
        .entry = ALQI_PYTHON_ENTRY_ORDER,
        .lines = ALQI_PYTHON_LINES_STEPS,
        .thread_id = 176,
        .thread_top = 24,
        .frame_code = 32,
        .frame_previous = 24,
        .frame_instr = 104,
        .last_bytes = 1,
        OBJECTS_TO_3_10,
    },
    {
        .version = 0x030a, /* 3.10: run */
        .version_last = 0x030a,
        .entry = ALQI_PYTHON_ENTRY_EACH,
        .lines = ALQI_PYTHON_LINES_RANGES,
        .thread_id = 176,
        .thread_top = 24,
        .thread_cframe = 48,
        .cframe_previous = 8,
        .frame_code = 32,
        .frame_previous = 24,
        .frame_instr = 96,
        .last_bytes = 2,
        OBJECTS_TO_3_10,
    },
    {
        .version = 0x030b, /* 3.11: run; Debian 12's */
        .version_last = 0x030b,
        .entry = ALQI_PYTHON_ENTRY_FLAG,
        .thread_id = 152,
        .thread_top = 56,
        .has_cframe = true,
        .cframe_frame = 8,
        .cframe_previous = 16,
        .frame_code = 32,
        .frame_previous = 48,
        .frame_instr = 56,
        .frame_entry = 68,
        .code_first_line = 72,
        .code_file = 112,
        .code_name = 128,
        .code_lines = 136,
        .code_units = 184,
        .code_bytes = 184,
        .type = 8,
        .size = 16,
        .bytes_data = 32,
        .text_state = 32,
        .text_ascii_data = 48,
        .text_data = 72,
    },
    {
        .version = 0x030c, /* 3.12: run */
        .version_last = 0x030c,
        .entry = ALQI_PYTHON_ENTRY_FRAME,
        .thread_id = 136,
        .thread_top = 56,
        .has_cframe = true,
        .cframe_frame = 0,
        .cframe_previous = 8,
        .frame_entry = 70,
        .code_units = 192,
        .code_bytes = 192,
        FRAMES_FROM_3_12,
    },
    {
        .version = 0x030d, /* 3.13: run */
        .version_last = 0x030d,
        .entry = ALQI_PYTHON_ENTRY_FRAME,
        .thread_id = 152,
        .thread_top = 72,
        .frame_entry = 70,
        .code_units = 200,
        .code_bytes = 200,
        FRAMES_FROM_3_12,
    },
    {
        .version = 0x030e, /* 3.14: run; Debian 14's */
        .version_last = 0x030e,
        .entry = ALQI_PYTHON_ENTRY_FRAME,
        .thread_id = 152,
        .thread_top = 72,
        .frame_entry = 74,
        .frame_code_tag = 3,
        .code_units = 208,
        .code_bytes = 208,
        FRAMES_FROM_3_12,
    },
};

const struct alqi_python_layout *
alqi_python_layout_of(uint32_t version)
{
    for (size_t i = 0; i < ALQI_COUNT_OF(layouts); i++)
        if (version >= layouts[i].version && version <= layouts[i].version_last)
            return &layouts[i];
    return NULL;
}
