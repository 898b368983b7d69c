/* control_kit.h -- a client of a control socket with an abstract name ("@...")
 */
#ifndef ALQI_EMBED_CONTROL_KIT_H
#define ALQI_EMBED_CONTROL_KIT_H

#include <stdbool.h>

enum { CONTROL_ANSWER_BYTES = 16384 };

/* -1: nobody serves the name. */
int control_connect(const char *name);
void control_say(int fd, const char *request);
/* False: nobody served to the end. */
bool control_hear(int fd, char *answer);
/* All of it. */
bool control_ask(const char *name, const char *request, char *answer);

#endif
