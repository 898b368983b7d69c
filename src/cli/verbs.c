/* verbs.c -- the table of verbs, in the order in which help lists them */
#include <string.h>

#include "base/base.h"
#include "cli/tool/cli.h"

const struct alqi_cli_verb alqi_cli_verbs[] = {
    {"record", "run a program and leave a trace of each of its processes",
     "[--] PROGRAM [ARGUMENT]...", alqi_cli_record, alqi_cli_record_options,
     true},
    {"report", "show where the memory of a recorded program goes",
     "FILE|DIRECTORY...", alqi_cli_report, alqi_cli_report_options, false},
    {"diff", "compare two recordings: what changed, and is it more than chance",
     "A B", alqi_cli_diff, alqi_cli_diff_options, false},
    {"view", "look at traces in the browser", "FILE|DIRECTORY...",
     alqi_cli_view, alqi_cli_view_options, false},
    {"merge", "make one trace of several", "FILE|DIRECTORY...", alqi_cli_merge,
     alqi_cli_merge_options, false},
    {"info", "show what a trace holds: program, rates, threads, drops",
     "FILE|DIRECTORY...", alqi_cli_info, alqi_cli_info_options, false},
    {"script", "print a trace as text, one event a line", "FILE",
     alqi_cli_script, alqi_cli_script_options, false},
    {"export", "write a trace in another tool's format", "FILE",
     alqi_cli_export, alqi_cli_export_options, false},
    {"serve", "give profiles and metrics of a running program by HTTP",
     "PID|FILE", alqi_cli_serve, alqi_cli_serve_options, false},
    {"push", "send profiles of a program or a trace to an engine", "PID|FILE",
     alqi_cli_push, alqi_cli_push_options, false},
    {"check", "look for damage in a trace, and repair it", "FILE",
     alqi_cli_check, alqi_cli_check_options, false},
    {"top", "watch where the memory of a running program goes",
     "-p PID | RECORDING", alqi_cli_top, alqi_cli_top_options, false},
    {"start", "begin or resume sampling in a running process", "-p PID",
     alqi_cli_start, alqi_cli_start_options, false},
    {"stop", "stop sampling there; frees go on being recorded", "-p PID",
     alqi_cli_stop, alqi_cli_stop_options, false},
    {"rate", "sample finer or coarser there from now on", "-p PID",
     alqi_cli_rate, alqi_cli_rate_options, false},
    {"snapshot", "make a recording, as far as it is, a trace",
     "-p PID | RECORDING", alqi_cli_snapshot, alqi_cli_snapshot_options, false},
    {"status", "tell what a running process records", "-p PID", alqi_cli_status,
     alqi_cli_status_options, false},
    {"gc-trace", "show what a managed heap's collector did: JSON for viewers",
     "FILE", alqi_cli_gc_trace, alqi_cli_gc_trace_options, false},
    {"limits", "choose a limit on allocation: what is safe, what stops", "",
     alqi_cli_limits, alqi_cli_limits_options, false},
    {"help", "print help for a verb", "[VERB]", alqi_cli_help,
     alqi_cli_help_options, false},
};

const size_t alqi_cli_n_verbs = ALQI_COUNT_OF(alqi_cli_verbs);

const struct alqi_cli_verb *
alqi_cli_verb_find(const char *name)
{
    for (size_t i = 0; i < alqi_cli_n_verbs; i++)
        if (strcmp(alqi_cli_verbs[i].name, name) == 0)
            return &alqi_cli_verbs[i];
    return NULL;
}
