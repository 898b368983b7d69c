/* page.c -- the files of the viewer's page by name
 *
 * The assembler lays the bytes into the program (page_files.S); this file pairs
 * each name with its begin, its end and its type of HTTP. The table is
 * constant, so any thread may read it. */
#include <string.h>

#include "base/base.h"
#include "cli/tool/page.h"

extern const char alqi_cli_page_index[], alqi_cli_page_index_end[];
extern const char alqi_cli_page_script_end[], alqi_cli_page_style_end[];
extern const char alqi_cli_page_heap[], alqi_cli_page_heap_end[];
extern const char alqi_cli_page_engine_start[], alqi_cli_page_engine_end[];

/* The engine for pages that stand alone; a server has it compiled in. */
const char *
alqi_cli_page_engine(size_t *n_bytes)
{
    *n_bytes = (size_t)(alqi_cli_page_engine_end - alqi_cli_page_engine_start);
    return alqi_cli_page_engine_start;
}

/* A linear search: there are four files. */
bool
alqi_cli_page_find(const char *name, struct alqi_cli_page_file *file)
{
    static const struct {
        const char *name, *type, *bytes, *end;
    } files[] = {
        {"index.html", "text/html; charset=utf-8", alqi_cli_page_index,
         alqi_cli_page_index_end},
        {"app.js", "text/javascript; charset=utf-8", alqi_cli_page_script,
         alqi_cli_page_script_end},
        {"heap.js", "text/javascript; charset=utf-8", alqi_cli_page_heap,
         alqi_cli_page_heap_end},
        {"app.css", "text/css; charset=utf-8", alqi_cli_page_style,
         alqi_cli_page_style_end},
    };

    if (name[0] == '\0')
        name = files[0].name;
    for (size_t i = 0; i < ALQI_COUNT_OF(files); i++)
        if (strcmp(files[i].name, name) == 0) {
            file->type = files[i].type;
            file->bytes = files[i].bytes;
            file->n_bytes = (size_t)(files[i].end - files[i].bytes);
            return true;
        }
    return false;
}
