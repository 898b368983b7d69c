/* python.h -- the frames of Python programs            [doc/design/python.md]
 *
 * A CPython interpreter in the process is found by its symbols; what of its
 * structures is read, and where, is a table by version (layout.h).  Nothing of
 * it is linked, and nothing is written.
 *
 * .inv.checked  No pointer of the interpreter's is followed before it is
 *               checked: page by page, by asking the kernel, or, where the
 *               reader is trusted, for being an aligned address of a program.
 *               What it leads to must have the type that is expected there.
 * .inv.bound    Each walk ends: frames, texts and tables have a most. */
#ifndef ALQI_PYTHON_PYTHON_H
#define ALQI_PYTHON_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct alqi_python_layout;

/* PyMemAllocatorEx: the same in all versions since 3.5. */
struct alqi_python_allocator {
    void *ctx;
    void *(*malloc)(void *ctx, size_t size);
    void *(*calloc)(void *ctx, size_t n, size_t size);
    void *(*realloc)(void *ctx, void *block, size_t size);
    void (*free)(void *ctx, void *block);
};

/* The allocators of an interpreter that have a name: PyMemAllocatorDomain. */
enum alqi_python_domain { ALQI_PYTHON_RAW, ALQI_PYTHON_MEM, ALQI_PYTHON_OBJ };

/* An interpreter: where its symbols are.  Constant once found. */
struct alqi_python {
    const struct alqi_python_layout *layout;
    void *(*current_thread)(void); /* the one that holds the GIL, or NULL */
    void *(*own_thread)(void);     /* the caller's, or NULL */
    int (*is_initialized)(void);
    void (*get_allocator)(int domain, struct alqi_python_allocator *out);
    void (*set_allocator)(int domain, struct alqi_python_allocator *from);
    uintptr_t text_start; /* where its code is: [start, end) */
    uintptr_t text_end;
    uintptr_t evaluator_start; /* its function that runs frames, without the
                                  parts that the compiler put elsewhere */
    uintptr_t evaluator_end;
    uintptr_t code_type; /* what objects of these types point to */
    uintptr_t text_type;
    uintptr_t bytes_type;
    uintptr_t frame_type;
};

enum alqi_python_found {
    ALQI_PYTHON_NONE,
    ALQI_PYTHON_UNREAD, /* of a version without a layout, or without a GIL */
    ALQI_PYTHON_READ
};

/* Looks for an interpreter in the module that has the address; *out is for
 * ALQI_PYTHON_READ alone.  Takes no lock and allocates nothing. */
enum alqi_python_found alqi_python_find(uintptr_t address,
                                        struct alqi_python *out);

enum { ALQI_PYTHON_PAGES = 8 };

/* How the interpreter's memory is read in one walk. */
struct alqi_python_reader {
    /* The interpreter's own rules hold (.inv.trust): the kernel is not asked.
     */
    bool is_trusted;
    uint32_t n_pages; /* asked for so far */
    uintptr_t pages[ALQI_PYTHON_PAGES];
    /* The file whose hash was taken last: most frames have few of them. */
    uintptr_t file;
    uint64_t file_hash;
};

/* A frame of a Python function. */
struct alqi_python_frame {
    uintptr_t code;     /* its code object */
    uintptr_t instr;    /* address of the instruction it stands at */
    uintptr_t entry_at; /* an address in the stack frame of the evaluator that
                           runs it: frames with the same one are one run;
                           NO_MARK: the version has none */
};

#define ALQI_PYTHON_NO_MARK UINTPTR_MAX

/* The calling thread's frames, innermost first, at most `most`.  Sets
 * reader->is_trusted: to what `is_plain` says, that the calling thread was not
 * interrupted, where it also holds the GIL.  Returns how many. */
uint32_t alqi_python_walk(const struct alqi_python *python, bool is_plain,
                          struct alqi_python_reader *reader,
                          struct alqi_python_frame *frames, uint32_t most);

/* What identifies a code object: another at the same address differs in one of
 * these, though its parts may be where those of the old one were. */
struct alqi_python_code {
    uint64_t texts; /* a hash of name and file */
    uintptr_t name;
    uintptr_t lines;
    int32_t first_line;
};

/* False: there is no code object at the address. */
bool alqi_python_code_read(const struct alqi_python *python,
                           struct alqi_python_reader *reader, uintptr_t at,
                           struct alqi_python_code *out);

/* Qualified name and file of the code object, as UTF-8, cut to the room. */
void alqi_python_code_name(const struct alqi_python *python,
                           struct alqi_python_reader *reader, uintptr_t at,
                           char *name, size_t name_bytes, char *file,
                           size_t file_bytes);

/* Line of the instruction of that code object; 0: it has none. */
uint32_t alqi_python_code_line(const struct alqi_python *python,
                               struct alqi_python_reader *reader, uintptr_t at,
                               const struct alqi_python_code *code,
                               uintptr_t instr);

/* The line of the `unit`-th instruction by a table of that kind (layout.h) of
 * n_bytes, read by `get` from `from` on; 0: none. */
typedef bool alqi_python_get_fn(void *arg, size_t from, void *to, size_t n);
uint32_t alqi_python_line(unsigned lines, alqi_python_get_fn *get, void *arg,
                          size_t n_bytes, int32_t first_line, int64_t unit);

/* Text of n characters of 1, 2 or 4 bytes as UTF-8, NUL-terminated and cut at
 * a character. */
size_t alqi_python_utf8(const void *characters, size_t n, unsigned kind,
                        char *out, size_t capacity);

#endif
