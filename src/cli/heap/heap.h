/* heap.h -- the parts of `aliquot heap`          [doc/design/heap-snapshot] */
#ifndef ALQI_CLI_HEAP_HEAP_H
#define ALQI_CLI_HEAP_HEAP_H

#include "cli/heap/snapshot.h"
#include "cli/tool/json.h"
#include "cli/tool/term.h"

struct alqi_cli_heap_run {
    bool is_json;
    bool has_no_pager;
    bool overwrites;
    bool is_histogram;
    bool is_tree;
    bool is_holders;
    uint64_t depth;     /* of tree and holders */
    uint64_t top;       /* rows of each table; 0: all */
    const char *path;   /* whose way is asked for; NULL: none is */
    const char *below;  /* whose tree is asked for; NULL: that of all */
    const char *export; /* the file to write; NULL: none */

    /* of a server (answers.h), which takes objects: else NULL, 0 */
    json_t **taken;
    uint64_t least_part; /* of tree and holders: what has less than 1 of so many
                          * parts is counted, not listed; 0: all is listed */

    struct alqi_cli_heap_snapshot snapshot;
    uint64_t solve_us;
    struct alqi_cli_term term;
};

/* Each prints a page, or with is_json an object, which a server takes. */
void alqi_cli_heap_page(struct alqi_cli_heap_run *run);
void alqi_cli_heap_histogram(struct alqi_cli_heap_run *run);
void alqi_cli_heap_holders(struct alqi_cli_heap_run *run);
/* These return the exit status. */
int alqi_cli_heap_tree(struct alqi_cli_heap_run *run);
int alqi_cli_heap_path(struct alqi_cli_heap_run *run);
int alqi_cli_heap_export(struct alqi_cli_heap_run *run);
int alqi_cli_heap_diff(struct alqi_cli_heap_run *run, const char *a,
                       const char *b);

#endif
