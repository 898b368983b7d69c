/* symbol_debuginfod.c -- debug files from a debuginfod server, when allowed
 *
 *   not loaded --first file--> loaded --late answer--> given up, for this table
 *                  \--no library: never asked again
 *
 * The library's own time limits come from the environment and start at 90 s
 * for one file.  Ours is a deadline checked in its progress callback; once a
 * file misses it, the servers are not asked again for this table: a report
 * over 300 modules must not wait 300 times. */
#include "stack/symbol_debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

enum { LIMIT_MS = 20000 };

typedef int progress_fn(void *client, long done, long total);

static int64_t
now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void
alqi_symbol_debuginfod_init(struct alqi_symbol_debuginfod *server, bool allow)
{
    const char *urls = getenv("DEBUGINFOD_URLS");

    *server = (struct alqi_symbol_debuginfod){0};
    server->is_allowed = allow && urls != NULL && urls[0] != '\0';
    server->limit_ms = LIMIT_MS;
}

/* dlsym gives an object pointer; POSIX lets it be stored as a function's. */
static bool
function_find(struct alqi_symbol_debuginfod *server, const char *name,
              void *function)
{
    void *at = dlsym(server->library, name);

    *(void **)function = at;
    return at != NULL;
}

/* Called by the library while a file comes; not 0: give it up. */
static int
progress(void *client, long done, long total)
{
    void *(*get_user_data)(void *) = NULL;
    struct alqi_symbol_debuginfod *server;

    (void)done;
    (void)total;
    *(void **)&get_user_data = dlsym(RTLD_DEFAULT, "debuginfod_get_user_data");
    if (get_user_data == NULL)
        return 1;
    server = get_user_data(client);
    return now_ms() > server->deadline_ms;
}

/* Loads the library and makes a client, once; false: there is none. */
static bool
library_load(struct alqi_symbol_debuginfod *server)
{
    void *(*begin)(void) = NULL;
    void (*set_progress)(void *, progress_fn *) = NULL;
    void (*set_user_data)(void *, void *) = NULL;

    if (server->is_loaded)
        return server->client != NULL;
    server->is_loaded = true;
    server->library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (server->library == NULL ||
        !function_find(server, "debuginfod_begin", &begin) ||
        !function_find(server, "debuginfod_set_progressfn", &set_progress) ||
        !function_find(server, "debuginfod_set_user_data", &set_user_data))
        return false;
    server->client = begin();
    if (server->client == NULL)
        return false;
    set_user_data(server->client, server);
    set_progress(server->client, progress);
    return true;
}

int
alqi_symbol_debuginfod_fetch(struct alqi_symbol_debuginfod *server,
                             const uint8_t *build_id, size_t bytes)
{
    int (*find)(void *, const unsigned char *, int, char **) = NULL;
    int fd;

    if (!server->is_allowed || server->has_given_up || bytes == 0 ||
        bytes > 64 || !library_load(server) ||
        !function_find(server, "debuginfod_find_debuginfo", &find))
        return -1;
    server->deadline_ms = now_ms() + server->limit_ms;
    fd = find(server->client, build_id, (int)bytes, NULL);
    if (fd < 0 && now_ms() > server->deadline_ms)
        server->has_given_up = true;
    return fd < 0 ? -1 : fd;
}

void
alqi_symbol_debuginfod_drop(struct alqi_symbol_debuginfod *server)
{
    void (*end)(void *) = NULL;

    if (server->client != NULL && function_find(server, "debuginfod_end", &end))
        end(server->client);
    /* The library keeps threads and atexit work: it is never unloaded. */
    server->client = server->library = NULL;
    server->is_loaded = false;
}
