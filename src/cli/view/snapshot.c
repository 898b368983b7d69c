/* snapshot.c -- the server's part that knows a heap snapshot   [snapshot.h]
 *
 * The page loads heap.js, which has the view, only where a snapshot is open:
 * its element is put into the page here.  Questions are those of
 * cli/heap/answers.h, and `info` where no trace is there to answer it. */
#include "cli/view/snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tool/cli.h"
#include "cli/tool/json.h"
#include "cli/tool/page.h"

#define SCRIPT "<script src=\"heap.js\" defer></script>\n"
#define HEAD_END "</head>"
#define PLACE "<div id=\"app\">"
#define PLACE_ALONE "<div id=\"app\" data-filter=\"view=holders\">"

int
alqi_cli_view_snapshot_open(struct alqi_cli_view_snapshot *s, const char *path)
{
    if (s->path != NULL)
        return alqi_cli_usage("view",
                              "view: one heap snapshot at a time: `aliquot "
                              "heap %s %s` compares two",
                              s->path, path);
    s->path = path;
    return alqi_cli_heap_answers_open(&s->answers, path);
}

/* The page as it was built has both places, or the build of it ended. */
void
alqi_cli_view_snapshot_begin(struct alqi_cli_view_snapshot *s, bool is_alone)
{
    struct alqi_cli_page_file file;
    const char *head, *place;
    size_t n;
    FILE *to;

    if (s->path == NULL)
        return;
    s->is_alone = is_alone;
    alqi_cli_page_find("", &file);
    head = strstr(file.bytes, HEAD_END);
    place = strstr(file.bytes, PLACE);
    to = open_memstream(&s->index, &n);
    if (to == NULL)
        alqi_cli_die("view: out of memory");
    fprintf(to, "%.*s" SCRIPT "%.*s%s%s", (int)(head - file.bytes), file.bytes,
            (int)(place - head), head, is_alone ? PLACE_ALONE : PLACE,
            place + strlen(PLACE));
    fclose(to);
}

void
alqi_cli_view_snapshot_close(struct alqi_cli_view_snapshot *s)
{
    alqi_cli_heap_answers_drop(s->answers);
    free(s->index);
}

/* What the page asks first, where there is no trace. */
static void
info_put(struct alqi_cli_http_answer *out)
{
    json_t *to = json_object();
    char *text;

    alqi_cli_json_set(to, "traces", json_array());
    alqi_cli_json_set(to, "version", json_string(ALQI_VERSION));
    text = json_dumps(to, JSON_COMPACT);
    json_decref(to);
    out->status = 200;
    out->body = text;
    out->n_bytes = text != NULL ? strlen(text) : 0;
}

bool
alqi_cli_view_snapshot_answer(struct alqi_cli_view_snapshot *s,
                              const struct alqi_cli_http_request *request,
                              struct alqi_cli_http_answer *out)
{
    static const char api[] = "/api/heap/";
    char *text;

    if (s->path == NULL)
        return false;
    if (s->is_alone && strcmp(request->path, "/api/info") == 0) {
        info_put(out);
    } else if (strncmp(request->path, api, sizeof api - 1) == 0) {
        out->status =
            alqi_cli_heap_answer(s->answers, request->path + sizeof api - 1,
                                 request->query, &text, &out->n_bytes);
        out->body = text;
    } else {
        return false;
    }
    out->type = "application/json";
    return true;
}
