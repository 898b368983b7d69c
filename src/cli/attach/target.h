/* target.h -- a running process, as far as attaching to it is concerned
 *                                                   [doc/design/attach.md] */
#ifndef ALQI_CLI_ATTACH_TARGET_H
#define ALQI_CLI_ATTACH_TARGET_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A line of /proc/PID/maps. */
struct alqi_cli_mapping {
    uintptr_t start, end;
    bool is_executable;
    bool is_writable;
    bool is_shared;
    uint64_t offset; /* of `start` in the file */
    char path[512];  /* as the process sees it; "": none */
};

struct alqi_cli_attach_target {
    pid_t pid;
    pid_t inner_pid; /* as the process itself knows it (pid namespace) */
    uid_t uid;
    gid_t gid;
    char state;   /* as in ps                                       */
    pid_t tracer; /* 0: none                                        */
    pid_t parent;
    unsigned n_filters;  /* of system calls (seccomp) */
    bool has_own_filter; /* beyond those of its container */
    bool has_shadow;     /* shadow stacks                                  */
    bool is_kernel_thread;
    bool is_other_mount; /* it sees another tree of files than this command */
    char executable[PATH_MAX]; /* as the process sees it                    */
    char root[32];             /* prefix of its paths here; "": none        */
    struct alqi_cli_mapping *mappings;
    size_t n_mappings;
};

/* Reads all that; false, with a message said, where the process cannot be
 * attached to.  Nothing of the process is touched. */
bool alqi_cli_attach_target_look(const char *verb, pid_t pid,
                                 struct alqi_cli_attach_target *out);

/* Its executable, and whether it sees another tree of files. */
void alqi_cli_attach_target_files(struct alqi_cli_attach_target *target);

/* Reads the mappings anew; false: the process has gone. */
bool alqi_cli_attach_target_map(struct alqi_cli_attach_target *target);

/* The same of text in that form, as the process sees itself. */
bool alqi_cli_attach_target_map_text(struct alqi_cli_attach_target *target,
                                     char *text, size_t n_bytes);

/* Whether the system does not let this command look into the process as it is,
 * so that only the process itself can tell; nothing is said.  One that has a
 * filter of its own is not to be asked: a call that it does not expect may end
 * it. */
bool alqi_cli_attach_target_is_refused(pid_t pid);

/* Whether its mappings can be read. */
bool alqi_cli_attach_target_has_map(pid_t pid);

/* What there is of it for everybody, without mappings. */
void alqi_cli_attach_target_name(struct alqi_cli_attach_target *target,
                                 pid_t pid);

/* The first mapping whose file has that name; NULL: none. */
const struct alqi_cli_mapping *
alqi_cli_attach_target_find(const struct alqi_cli_attach_target *target,
                            const char *name);

/* The mapping that holds the address; NULL: none. */
const struct alqi_cli_mapping *
alqi_cli_attach_target_at(const struct alqi_cli_attach_target *target,
                          uintptr_t address);

/* The process that has that number where the target's is inner_pid; 0: none is
 * to be seen from here. */
pid_t alqi_cli_attach_target_other(const struct alqi_cli_attach_target *target,
                                   pid_t inner_pid);

void alqi_cli_attach_target_drop(struct alqi_cli_attach_target *target);

#endif
