/* symbol_net.c -- debug files from a debuginfod server, when allowed
 *
 * The library's own time limits come from the environment and start at 90 s
 * for one file.  Ours is a deadline checked in its progress callback; once a
 * file misses it, the servers are not asked again for this table: a report
 * over 300 modules must not wait 300 times. */
#include "stack/symbol_net.h"

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
alqi_symbol_net_init(struct alqi_symbol_net *net, bool allow)
{
    const char *urls = getenv("DEBUGINFOD_URLS");

    *net = (struct alqi_symbol_net){0};
    net->is_allowed = allow && urls != NULL && urls[0] != '\0';
    net->limit_ms = LIMIT_MS;
}

/* dlsym gives an object pointer; POSIX lets it be stored as a function's. */
static bool
function_find(struct alqi_symbol_net *net, const char *name, void *function)
{
    void *at = dlsym(net->library, name);

    *(void **)function = at;
    return at != NULL;
}

static int
progress(void *client, long done, long total)
{
    void *(*get_user_data)(void *) = NULL;
    struct alqi_symbol_net *net;

    (void)done;
    (void)total;
    *(void **)&get_user_data = dlsym(RTLD_DEFAULT, "debuginfod_get_user_data");
    if (get_user_data == NULL)
        return 1;
    net = get_user_data(client);
    return now_ms() > net->deadline_ms;
}

static bool
library_load(struct alqi_symbol_net *net)
{
    void *(*begin)(void) = NULL;
    void (*set_progress)(void *, progress_fn *) = NULL;
    void (*set_user_data)(void *, void *) = NULL;

    if (net->is_loaded)
        return net->client != NULL;
    net->is_loaded = true;
    net->library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (net->library == NULL ||
        !function_find(net, "debuginfod_begin", &begin) ||
        !function_find(net, "debuginfod_set_progressfn", &set_progress) ||
        !function_find(net, "debuginfod_set_user_data", &set_user_data))
        return false;
    net->client = begin();
    if (net->client == NULL)
        return false;
    set_user_data(net->client, net);
    set_progress(net->client, progress);
    return true;
}

int
alqi_symbol_net_fetch(struct alqi_symbol_net *net, const uint8_t *build_id,
                      size_t bytes)
{
    int (*find)(void *, const unsigned char *, int, char **) = NULL;
    int fd;

    if (!net->is_allowed || net->has_given_up || bytes == 0 || bytes > 64 ||
        !library_load(net) ||
        !function_find(net, "debuginfod_find_debuginfo", &find))
        return -1;
    net->deadline_ms = now_ms() + net->limit_ms;
    fd = find(net->client, build_id, (int)bytes, NULL);
    if (fd < 0 && now_ms() > net->deadline_ms)
        net->has_given_up = true;
    return fd < 0 ? -1 : fd;
}

void
alqi_symbol_net_drop(struct alqi_symbol_net *net)
{
    void (*end)(void *) = NULL;

    if (net->client != NULL && function_find(net, "debuginfod_end", &end))
        end(net->client);
    /* The library keeps threads and atexit work: it is never unloaded. */
    net->client = net->library = NULL;
    net->is_loaded = false;
}
