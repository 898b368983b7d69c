/* page.h -- the viewer's page as it was built (viewer/dist), in the program */
#ifndef ALQI_CLI_TOOL_PAGE_H
#define ALQI_CLI_TOOL_PAGE_H

#include <stdbool.h>
#include <stddef.h>

struct alqi_cli_page_file {
    const char *type; /* of HTTP's Content-Type */
    /* of the program itself: never freed */
    const char *bytes;
    size_t n_bytes;
};

/* The file of a name, "" being index.html; false: there is none. */
bool alqi_cli_page_find(const char *name, struct alqi_cli_page_file *file);

/* ---- for a page in one file ---------------------------------------------- */

extern const char alqi_cli_page_script[], alqi_cli_page_style[]; /* texts */
/* SHA-256 in base64, for a policy. */
extern const char alqi_cli_page_script_hash[], alqi_cli_page_style_hash[];

/* The style sheet of the summary, cli/export/summary.css, and its hash.  It
 * needs no script, fonts or images; its colours have a contrast of 7:1 for text
 * and 4.5:1 for notes in both schemes, and mail programs that know no custom
 * properties, media queries or grids still get the tables. */
extern const char alqi_cli_page_summary[], alqi_cli_page_summary_hash[];

/* The engine, as WebAssembly. */
const char *alqi_cli_page_engine(size_t *n_bytes);

/* ---- for shells ---------------------------------------------------------- */

/* What follows the lists in the completion of bash: completion.bash. */
extern const char alqi_cli_page_completion[];

#endif
