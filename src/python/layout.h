/* layout.h -- where CPython keeps what is read of it, by version
 *
 * Offsets in bytes, of 64-bit builds without Py_TRACE_REFS and with a GIL;
 * facts about the structures that their headers show. */
#ifndef ALQI_PYTHON_LAYOUT_H
#define ALQI_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

/* How the outermost frame of a run of the evaluator is told. */
enum alqi_python_entry {
    ALQI_PYTHON_ENTRY_FLAG, /* its is_entry is set; the _PyCFrame is the mark */
    ALQI_PYTHON_ENTRY_FRAME, /* a frame of owner ENTRY_OWNER is before it, on
                               the stack of the evaluator, and is the mark */
    /* Up to 3.10 each call of the evaluator runs one frame, an object: */
    ALQI_PYTHON_ENTRY_EACH, /* its _PyCFrame is the mark */
    ALQI_PYTHON_ENTRY_ORDER /* there is no mark: frames and calls of the
                               evaluator are in the same order */
};

/* How a code object tells lines (code.c). */
enum alqi_python_lines {
    ALQI_PYTHON_LINES_ENTRIES, /* 3.11 and later: co_linetable */
    ALQI_PYTHON_LINES_RANGES,  /* 3.10: co_linetable */
    ALQI_PYTHON_LINES_STEPS    /* up to 3.9: co_lnotab */
};

enum { ALQI_PYTHON_ENTRY_OWNER = 3 };

struct alqi_python_layout {
    /* the first and the last that have it, as upper half of Py_Version: 0x030b
     * is 3.11 */
    uint32_t version, version_last;
    enum alqi_python_entry entry;
    enum alqi_python_lines lines;
    /* PyThreadState */
    uint16_t thread_id;
    uint16_t thread_top;    /* to its _PyCFrame, or to its innermost frame */
    uint16_t thread_cframe; /* to its _PyCFrame beside that: ENTRY_EACH */
    /* _PyCFrame, on the stack of the evaluator */
    bool has_cframe;
    uint16_t cframe_frame;
    uint16_t cframe_previous;
    /* _PyInterpreterFrame, or PyFrameObject */
    uint16_t frame_code;
    uint16_t frame_code_tag; /* bits of that word which are no address */
    uint16_t frame_previous;
    uint16_t frame_instr; /* address of the instruction; of an object its
                             number, in last_bytes */
    uint16_t frame_entry; /* a byte, the last that is read: is_entry, or owner
                           */
    uint16_t last_bytes;  /* 1, or 2: of an instruction; 0: no objects */
    /* PyCodeObject */
    uint16_t code_first_line;
    uint16_t code_file;
    uint16_t code_name; /* the qualified one */
    uint16_t code_lines;
    uint16_t code_units; /* instructions, of 2 bytes each; 0: elsewhere */
    uint16_t code_bytes; /* what is read of it lies in so many */
    /* objects */
    uint16_t type;
    uint16_t size; /* of bytes, and of text: its characters, then its hash */
    uint16_t bytes_data;
    uint16_t text_state;
    uint16_t text_ascii_data;
    uint16_t text_data;
};

/* The layout of a version; NULL: there is none. */
const struct alqi_python_layout *alqi_python_layout_of(uint32_t version);

#endif
