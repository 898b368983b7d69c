/* wasm.c -- the engine in a page: what viewer/src/engine.ts calls
 *
 * devtools/viewer compiles it, with the other files of this folder, to
 * WebAssembly; no other build has it but its test.  One thread, one set of
 * traces, one answer at a time.  Addresses are offsets in the module's memory;
 * what alqi_view_wasm_room gave for an index stays, for words it is freed with
 * the answer. */
#include <stdlib.h>

#include "view/answer.h"

#ifdef __wasm__
#define EXPORT(name) __attribute__((export_name(name), used))
#else /* its test */
#define EXPORT(name)
#endif

void *alqi_view_wasm_room(size_t n_bytes);
const char *alqi_view_wasm_add(void *index, size_t n_bytes);
int alqi_view_wasm_answer(char *path, char *query);
const char *alqi_view_wasm_text(void);
size_t alqi_view_wasm_text_bytes(void);

/* All traces of the page; NULL before the first add. */
static struct alqi_view_set *set;
/* The last answer; its room is used again. */
static struct alqi_view_json answer;

/* NULL: no memory. */
EXPORT("room")
void *
alqi_view_wasm_room(size_t n_bytes)
{
    return malloc(n_bytes > 0 ? n_bytes : 1);
}

/* NULL, or what is wrong with the index. */
EXPORT("add")
const char *
alqi_view_wasm_add(void *index, size_t n_bytes)
{
    if (set == NULL)
        set = alqi_view_set_new();
    return set != NULL ? alqi_view_set_add(set, index, n_bytes)
                       : "there is no memory";
}

/* The status; the answer is text() until the next call. */
EXPORT("answer")
int
alqi_view_wasm_answer(char *path, char *query)
{
    int status = alqi_view_answer(set, path, query, &answer);

    free(path);
    free(query);
    return status;
}

EXPORT("text")
const char *
alqi_view_wasm_text(void)
{
    return answer.text;
}

EXPORT("text_bytes")
size_t
alqi_view_wasm_text_bytes(void)
{
    return answer.n;
}
