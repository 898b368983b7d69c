/* server.c -- a small server that leaks 256 bytes a request in three ways, amid
 * memory that comes and goes, or stays
 *
 *   server SOCKET
 *
 * Requests are lines on connections to the UNIX socket, one a connection, but
 * for "stay", whose connection stays open, and "quit".  The answer is a line,
 * and the connection is closed when the server has let go of all that it will:
 * who sees it closed knows that the server rests.
 *
 * What grows:
 *   lost       header_copy: the copy of a header, whose pointer is overwritten
 *   cached     results: an answer for each request, for ever
 *   listener   reload: each connection listens, and is never removed
 * What does not, so that a wrong finding is possible:
 *   routes     a tree made at the start, of 2 MiB
 *   recent     a cache of 1024 entries that is full: each request replaces one
 *   ticks      listeners that connections remove when they go
 *   bodies     buffers of many sizes, freed within a request
 *   staying    connections that stay open
 *
 * A request "map" leaks 256 bytes in another way: their address is kept in
 * memory that is mapped page by page, below what was mapped before.  "thread"
 * starts a thread that never ends, and keeps 256 bytes of its own. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

enum {
    LEAK_BYTES = 256,
    ROUTES = 8192,
    RECENT = 1024,
    BUCKETS = 512,
    STAYING = 64,
    LINE = 512
};

/* ---- what does not grow -------------------------------------------------- */

struct route {
    struct route *left, *right;
    char path[240];
};

struct listener {
    struct listener *next;
    char state[LEAK_BYTES - sizeof(struct listener *)];
};

static struct route *routes;
static char *recent[RECENT];
static struct listener *ticks;
static int staying[STAYING];
static int n_staying;

static NOINLINE struct route *
route_make(int n)
{
    struct route *r;

    if (n == 0)
        return NULL;
    r = calloc(1, sizeof *r);
    snprintf(r->path, sizeof r->path, "/route/%d", n);
    r->left = route_make((n - 1) / 2);
    r->right = route_make(n - 1 - (n - 1) / 2);
    return r;
}

static NOINLINE void
recent_put(unsigned long request)
{
    unsigned long at = request % RECENT;

    free(recent[at]);
    recent[at] = malloc(1000);
    snprintf(recent[at], 1000, "request %lu", request);
}

static NOINLINE char *
body_make(unsigned long request)
{
    size_t n = 100 + request * 7919 % 60000;
    char *body = malloc(n);

    memset(body, 'x', n);
    return body;
}

/* ---- what grows ---------------------------------------------------------- */

struct result {
    struct result *next;
    char text[LEAK_BYTES - sizeof(struct result *)];
};

static struct result *results[BUCKETS];
static struct listener *reload;
static char *volatile header;

static NOINLINE void
header_copy(const char *line)
{
    header = malloc(LEAK_BYTES);
    snprintf(header, LEAK_BYTES, "X-Request: %s", line);
    header = NULL;
}

static NOINLINE const char *
result_put(unsigned long request)
{
    struct result *r = malloc(sizeof *r), **bucket;

    bucket = &results[request % BUCKETS];
    snprintf(r->text, sizeof r->text, "result %lu\n", request);
    r->next = *bucket;
    *bucket = r;
    return r->text;
}

static NOINLINE struct listener *
listener_add(struct listener **event)
{
    struct listener *l = calloc(1, sizeof *l);

    l->next = *event;
    *event = l;
    return l;
}

static NOINLINE void
listener_remove(struct listener **event, struct listener *listener)
{
    while (*event != listener)
        event = &(*event)->next;
    *event = listener->next;
    free(listener);
}

static NOINLINE void
mapped_put(void)
{
    static char **page;
    static unsigned n_used;

    if (n_used % 512 == 0) {
        page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED)
            exit(2);
    }
    page[n_used++ % 512] = calloc(1, LEAK_BYTES);
}

static sem_t is_running;

static NOINLINE void *
thread_put(void *unused)
{
    static __thread void *volatile own;

    own = calloc(1, LEAK_BYTES);
    sem_post(&is_running);
    for (;;)
        pause();
    return unused;
}

static NOINLINE void
thread_start(void)
{
    pthread_attr_t small;
    pthread_t thread;

    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    if (pthread_create(&thread, &small, thread_put, NULL) != 0)
        exit(2);
    while (sem_wait(&is_running) != 0)
        continue;
}

/* ---- requests ------------------------------------------------------------ */

/* A request leaves old words below the stack pointer, and in what is pushed
 * next: pointers to what is lost would be among them. */
static NOINLINE void
wipe_stack(void)
{
    volatile char room[16384];

    memset((void *)room, 0, sizeof room);
}

static NOINLINE void
answer(int fd, const char *line)
{
    static unsigned long request;
    struct listener *tick = listener_add(&ticks);
    char *body = body_make(++request);
    const char *result;

    listener_add(&reload);
    header_copy(line);
    recent_put(request);
    result = result_put(request);
    if (write(fd, result, strlen(result)) < 0)
        perror("server: write");
    free(body);
    listener_remove(&ticks, tick);
}

/* The first line, without its end; false: the client has gone. */
static int
line_read(int fd, char line[LINE])
{
    size_t n = 0;
    ssize_t k = 0;

    while (n < LINE - 1 && (k = read(fd, line + n, 1)) == 1 && line[n] != '\n')
        n++;
    line[n] = '\0';
    return k == 1;
}

/* False: the server is to end. */
static int
serve(int fd)
{
    char line[LINE];
    int goes_on = 1;

    if (!line_read(fd, line)) {
        close(fd);
        return 1;
    }
    if (strcmp(line, "stay") == 0 && n_staying < STAYING) {
        staying[n_staying++] = fd;
        return 1;
    }
    if (strcmp(line, "quit") == 0)
        goes_on = 0;
    else if (strcmp(line, "map") == 0)
        mapped_put();
    else if (strcmp(line, "thread") == 0)
        thread_start();
    else
        answer(fd, line);
    wipe_stack();
    close(fd);
    return goes_on;
}

static int
listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    if (strlen(path) >= sizeof address.sun_path) {
        fputs("server: the socket's path is too long\n", stderr);
        exit(2);
    }
    strcpy(address.sun_path, path);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(fd, 16) != 0) {
        perror("server: listen");
        exit(2);
    }
    return fd;
}

int
main(int argc, char **argv)
{
    int fd;

    if (argc != 2) {
        fputs("usage: server SOCKET\n", stderr);
        return 2;
    }
    routes = route_make(ROUTES);
    for (unsigned long i = 0; i < RECENT; i++)
        recent_put(i);
    fd = listen_at(argv[1]);
    puts("ready");
    fflush(stdout);
    for (;;) {
        struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
        int client;

        if (poll(&poll_fd, 1, -1) < 0 && errno != EINTR)
            return 2;
        client = accept(fd, NULL, NULL);
        if (client >= 0 && !serve(client))
            break;
    }
    unlink(argv[1]);
    return 0;
}
