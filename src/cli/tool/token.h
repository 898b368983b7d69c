/* token.h -- the word in the addresses of a user's servers */
#ifndef ALQI_CLI_TOOL_TOKEN_H
#define ALQI_CLI_TOOL_TOKEN_H

#include <stdbool.h>

enum { ALQI_CLI_TOKEN_BYTES = 16 };

/* Hexadecimal, with a NUL. */
typedef char alqi_cli_token[2 * ALQI_CLI_TOKEN_BYTES + 1];

/* A word that nobody has had. False without random numbers; errno says why. */
bool alqi_cli_token_new(alqi_cli_token token);

/* The user's, the same each time: $XDG_STATE_HOME/aliquot/token, which the user
 * alone may read. A file that others may read, or that is none of ours, is
 * replaced; where none can be kept, the word is a new one. False without random
 * numbers; errno says why. */
bool alqi_cli_token_of_user(alqi_cli_token token);

#endif
