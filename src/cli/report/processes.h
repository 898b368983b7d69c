/* processes.h -- the table of the processes of a trace made of several */
#ifndef ALQI_CLI_REPORT_PROCESSES_H
#define ALQI_CLI_REPORT_PROCESSES_H

#include "cli/analysis/analysis.h"
#include "cli/tool/term.h"

/* Numbers of the processes, in *order (freed by the caller): by what they
 * allocated, the most first, or by start.  Returns how many there are. */
uint32_t alqi_cli_processes_order(const struct alqi_cli_analysis *analysis,
                                  bool by_bytes, uint32_t **order);

/* What the process allocated; all zeros when nothing. */
const struct alqi_cli_share *
alqi_cli_process_share(const struct alqi_cli_analysis *analysis,
                       uint32_t process);

/* From its start to its end, or to its last event where that is not known. */
uint64_t alqi_cli_process_ran_us(const struct alqi_cli_analysis *analysis,
                                 uint32_t process);

/* The command line, or the program when there is none; number of a name. */
uint32_t alqi_cli_process_command(const struct alqi_cli_analysis *analysis,
                                  uint32_t process);

/* Prints the table: heading, a row a process, and one line for those left out.
 * rows is 0 for all. */
void alqi_cli_processes_table(const struct alqi_cli_term *term,
                              const struct alqi_cli_analysis *analysis,
                              bool by_bytes, uint64_t rows);

#endif
