/* verbs.c -- the table of verbs, in the order in which help lists them */
#include <string.h>

#include "base/base.h"
#include "cli/tool/cli.h"

const struct alqi_cli_verb alqi_cli_verbs[] = {
    {"record", "run a program and record where it allocates memory",
     "[--] PROGRAM [ARGUMENT]...", alqi_cli_record, alqi_cli_record_options,
     true, ALQI_CLI_REFUSES_ALONE},
    {"report", "show where the memory of a recorded program goes",
     "FILE|DIRECTORY...", alqi_cli_report, alqi_cli_report_options, false},
    {"view", "show traces, heap snapshots or a process in the browser",
     "[-p PID] [FILE|DIRECTORY]...", alqi_cli_view, alqi_cli_view_options,
     false},
    {"diff", "compare two traces, and say what is more than chance", "A B",
     alqi_cli_diff, alqi_cli_diff_options, false},
    {"export", "write a trace in another tool's format", "FILE",
     alqi_cli_export, alqi_cli_export_options, false},
    {"top", "watch the memory of a running program in the terminal",
     "-p PID | RECORDING", alqi_cli_top, alqi_cli_top_options, false,
     ALQI_CLI_REFUSES_APART},
    {"start", "start or resume sampling in a running process", "-p PID",
     alqi_cli_control, alqi_cli_start_options, false},
    {"stop", "stop sampling in a running process", "-p PID", alqi_cli_control,
     alqi_cli_stop_options, false},
    {"rate", "change the sampling rate of a running process", "-p PID",
     alqi_cli_control, alqi_cli_rate_options, false},
    {"status", "show whether and how a running process is recorded", "-p PID",
     alqi_cli_control, alqi_cli_status_options, false},
    {"mark", "say that a phase begins in a running process", "-p PID NAME",
     alqi_cli_mark, alqi_cli_mark_options, false},
    {"snapshot", "write a trace of what has been recorded so far",
     "-p PID | RECORDING", alqi_cli_snapshot, alqi_cli_snapshot_options, false},
    {"leaks", "tell lost blocks of a running process from held ones",
     "-p PID | LOOK LOOK...", alqi_cli_leaks, alqi_cli_leaks_options, false},
    {"heap", "show what a snapshot of a managed heap holds, and who holds it",
     "FILE [FILE]", alqi_cli_heap, alqi_cli_heap_options, false},
    {"serve", "serve profiles and metrics of a program over HTTP",
     "-p PID | FILE", alqi_cli_serve, alqi_cli_serve_options, false},
    {"push", "send profiles to Pyroscope, Parca or OpenTelemetry",
     "-p PID | FILE", alqi_cli_push, alqi_cli_push_options, false},
    {"info", "show what a trace contains: program, rate, threads, losses",
     "FILE|DIRECTORY...", alqi_cli_info, alqi_cli_info_options, false},
    {"script", "print a trace as text, one event a line", "FILE",
     alqi_cli_script, alqi_cli_script_options, false},
    {"check", "check a trace for damage, and repair it", "FILE", alqi_cli_check,
     alqi_cli_check_options, false},
    {"merge", "merge several traces into one", "FILE|DIRECTORY...",
     alqi_cli_merge, alqi_cli_merge_options, false},
    {"gc-trace", "show what the garbage collector of a managed heap did",
     "FILE", alqi_cli_gc_trace, alqi_cli_gc_trace_options, false},
    {"limits", "plan a limit on what a task may allocate", "", alqi_cli_limits,
     alqi_cli_limits_options, false, ALQI_CLI_REFUSES_ALONE},
    {"help", "print help for a command", "[COMMAND]", alqi_cli_help,
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
