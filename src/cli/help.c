/* help.c -- aliquot help [VERB] */
#include <string.h>

#include "cli/tool/cli.h"

enum { ID_COMPLETION = 256 };

const struct alqi_cli_option alqi_cli_help_options[] = {
    {ID_COMPLETION, "completion", NULL, NULL,
     "print the bash completion script"},
    {0, NULL, NULL, NULL, NULL},
};

static bool
set(void *arg, int id, const char *value)
{
    bool *completion = arg;

    (void)value;
    if (id == ID_COMPLETION)
        *completion = true;
    return true;
}

int
alqi_cli_help(int argc, char **argv)
{
    const struct alqi_cli_verb *verb;
    bool completion = false;
    int first;
    int rc = alqi_cli_parse("help", argc, argv, set, &completion, &first);

    if (rc >= 0)
        return rc;
    if (completion) {
        alqi_cli_complete_bash();
        return ALQI_CLI_OK;
    }
    if (first >= argc) {
        alqi_cli_help_all();
        return ALQI_CLI_OK;
    }
    verb = alqi_cli_verb_find(argv[first]);
    if (verb == NULL)
        return alqi_cli_usage(NULL, "there is no command '%s'", argv[first]);
    alqi_cli_help_verb(verb);
    return ALQI_CLI_OK;
}
