/* answer.h -- questions about traces and their answers
 *
 * The only entry of the server and of the page that was exported
 * (doc/design/view.md).  Nothing here opens a file or starts a thread. */
#ifndef ALQI_VIEW_ANSWER_H
#define ALQI_VIEW_ANSWER_H

#include "view/json.h"
#include "view/set.h"

enum { ALQI_VIEW_ANSWER_MAX = 1000000 };

/* Answers /api/PATH?QUERY in out, whose room is used again and which is the
 * caller's to free; returns the status: 200, 400, 404 or 500.  A set that is
 * NULL has no traces.  Never more than ALQI_VIEW_ANSWER_MAX bytes. */
int alqi_view_answer(struct alqi_view_set *set, const char *path,
                     const char *query, struct alqi_view_json *out);

#endif
