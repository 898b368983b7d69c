/* help.c -- aliquot help [VERB] */

#include "cli/tool/cli.h"

struct request {
    bool is_completion;
};

const struct alqi_cli_option alqi_cli_help_options[] = {
    {0, "completion", NULL, NULL, "print the bash completion script",
     ALQI_CLI_FLAG(struct request, is_completion)},
    {0},
};

int
alqi_cli_help(int argc, char **argv)
{
    const struct alqi_cli_verb *verb;
    struct request r = {0};
    int first;
    int rc = alqi_cli_parse("help", argc, argv, &r, &first);

    if (rc >= 0)
        return rc;
    if (r.is_completion) {
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
