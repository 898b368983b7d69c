/* layout.h -- where CPython keeps what is read of it, by version
 *
 * Offsets in bytes, of 64-bit builds without Py_TRACE_REFS and with a GIL;
 * facts about the structures that their headers (Include/internal) show. */
#ifndef ALQI_PYTHON_LAYOUT_H
#define ALQI_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

/* How the outermost frame of a run of the evaluator is told. */
enum alqi_python_entry {
    ALQI_PYTHON_ENTRY_FLAG, /* its is_entry is set; the _PyCFrame is the mark */
    ALQI_PYTHON_ENTRY_FRAME /* a frame of owner ENTRY_OWNER is before it, on
                               the stack of the evaluator, and is the mark */
};

enum { ALQI_PYTHON_ENTRY_OWNER = 3 };

struct alqi_python_layout {
    uint32_t version; /* the upper half of Py_Version: 0x030b */
    enum alqi_python_entry entry;
    /* PyThreadState */
    uint16_t thread_id;
    uint16_t thread_top; /* to its _PyCFrame, or to its innermost frame */
    /* _PyCFrame, on the stack of the evaluator */
    bool has_cframe;
    uint16_t cframe_frame;
    uint16_t cframe_previous;
    /* _PyInterpreterFrame */
    uint16_t frame_code;
    uint16_t frame_previous;
    uint16_t frame_instr;
    uint16_t frame_entry; /* a byte: is_entry, or owner */
    /* PyCodeObject */
    uint16_t code_first_line;
    uint16_t code_file;
    uint16_t code_name; /* the qualified one */
    uint16_t code_lines;
    uint16_t code_units; /* instructions, of 2 bytes each */
    /* objects */
    uint16_t type;
    uint16_t size; /* of bytes, and of text: its characters, then its hash */
    uint16_t bytes_data;
    uint16_t text_state;
    uint16_t text_ascii_data;
    uint16_t text_data;
};

#endif
