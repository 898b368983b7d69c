/* request_server.c -- a small server that knows which requests hold its memory
 *
 *   cc -pthread request_server.c -laliquot -o request_server
 *   LD_PRELOAD=libaliquot-preload.so ./request_server [--rate R] [--seed N]
 *   curl http://127.0.0.1:PORT/put/apple?bytes=20000        PORT is printed
 *   curl http://127.0.0.1:PORT/stats
 *
 *   /put/KEY?bytes=N   stores a value of N bytes under KEY
 *   /get/KEY           sends it back, through a buffer of its own
 *   /drop/KEY          forgets it
 *   /stats             live bytes by request kind: sampled, and counted
 *   /quit              ends the server
 *
 * Each worker thread names the kind of request it serves in a thread-local
 * variable.  A profile of the thread tree that begins at the accepting thread
 * covers the workers, and nothing else in the process: its alloc callback books
 * a sampled block on the kind that its thread serves, its dealloc callback
 * takes it off that kind again, whoever frees it.  So the table says who made
 * what is live now: "put" grows while the store does, "get" stays near zero.
 *
 * The server counts its own blocks, too, so that /stats can show both next to
 * each other; a real one has no such count, which is why it would sample.
 * Callbacks run inside malloc and free: they use atomics and no locks. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <aliquot/aliquot.h>

enum { WORKERS = 4, QUEUE_MAX = 64, BUCKETS = 1024, LINE_MAX_BYTES = 1024 };
enum { BYTES_MAX = 1 << 20, WORD_BYTES = 8 };

/* ---- the table of live bytes -------------------------------------------- */

enum kind { KIND_NONE, KIND_PUT, KIND_GET, KIND_DROP, KIND_OTHER, KINDS };
enum { KIND_BITS = 3 };

static const char *const kind_name[KINDS] = {"none", "put", "get", "drop",
                                             "other"};

static struct {
    _Atomic(uint64_t) requests;
    _Atomic(int64_t) sampled_bytes; /* live, estimated by the profile */
    _Atomic(int64_t) counted_bytes; /* live, as the server knows it */
} table[KINDS];

static _Thread_local enum kind serving;
static double rate = 1e-3; /* samples per word */

/* What a block's samples stand for.  A block of w words, its header's
 * included, has w * rate samples on average; each stands for as many of the
 * bytes that were asked for. */
static uint64_t
bytes_of(const struct alq_allocation *alloc)
{
    double words = (double)alloc->size_words + 1;

    return (uint64_t)((double)alloc->n_samples * (double)alloc->size_bytes /
                          (words * rate) +
                      0.5);
}

/* The user data: the bytes, and the kind in the lowest bits. */
static int
on_alloc(void *arg, const struct alq_allocation *alloc, uintptr_t *data)
{
    enum kind kind = serving;
    uint64_t bytes = bytes_of(alloc);

    (void)arg;
    if (kind == KIND_NONE)
        return ALQ_TRACK_DROP; /* the server's own, between requests */
    table[kind].sampled_bytes += (int64_t)bytes;
    *data = (uintptr_t)(bytes << KIND_BITS | kind);
    return ALQ_TRACK_KEEP;
}

static int
on_dealloc(void *arg, uintptr_t data)
{
    enum kind kind = data & ((1 << KIND_BITS) - 1);

    (void)arg;
    table[kind].sampled_bytes -= (int64_t)(data >> KIND_BITS);
    return 0;
}

/* ---- blocks the server counts ------------------------------------------- */

struct block {
    enum kind kind;
    size_t bytes; /* of the whole block */
    struct block *next;
    char *key;
    size_t n;
    char text[];
};

static struct block *
block_new(const char *key, size_t n)
{
    size_t bytes = sizeof(struct block) + n + strlen(key) + 1;
    struct block *b = malloc(bytes);

    if (b == NULL)
        return NULL;
    table[serving].counted_bytes += (int64_t)bytes;
    *b = (struct block){.kind = serving, .bytes = bytes, .n = n};
    b->key = strcpy(b->text + n, key);
    return b;
}

static void
block_free(struct block *b)
{
    if (b != NULL)
        table[b->kind].counted_bytes -= (int64_t)b->bytes;
    free(b);
}

/* ---- the store ---------------------------------------------------------- */

static struct {
    pthread_mutex_t lock;
    struct block *bucket[BUCKETS];
} store = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct block **
place_of(const char *key)
{
    struct block **at;
    unsigned h = 5381;

    for (const char *c = key; *c != '\0'; c++)
        h = h * 33 + (unsigned char)*c;
    at = &store.bucket[h % BUCKETS];
    while (*at != NULL && strcmp((*at)->key, key) != 0)
        at = &(*at)->next;
    return at;
}

/* Puts b, or nothing, under the key; what was there is the caller's. */
static struct block *
store_exchange(const char *key, struct block *b)
{
    struct block **at, *old;

    pthread_mutex_lock(&store.lock);
    at = place_of(key);
    old = *at;
    if (old != NULL)
        *at = old->next;
    if (b != NULL) {
        b->next = *at;
        *at = b;
    }
    pthread_mutex_unlock(&store.lock);
    return old;
}

static struct block *
store_copy(const char *key)
{
    struct block *b = NULL, *found;

    pthread_mutex_lock(&store.lock);
    found = *place_of(key);
    if (found != NULL)
        b = block_new(key, found->n);
    if (b != NULL)
        memcpy(b->text, found->text, found->n);
    pthread_mutex_unlock(&store.lock);
    return b;
}

/* ---- requests ----------------------------------------------------------- */

static void
send_all(int fd, const char *text, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, text, n, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return; /* the client has gone */
        text += sent;
        n -= (size_t)sent;
    }
}

static void
answer(int fd, int code, const char *body, size_t n)
{
    char head[128];
    int n_head = snprintf(head, sizeof head,
                          "HTTP/1.0 %d %s\r\nContent-Length: %zu\r\n\r\n", code,
                          code == 200 ? "OK" : "Error", n);

    send_all(fd, head, (size_t)n_head);
    send_all(fd, body, n);
}

static void
answer_text(int fd, int code, const char *text)
{
    answer(fd, code, text, strlen(text));
}

static void
serve_put(int fd, char *key)
{
    char *query = strchr(key, '?'), *end;
    unsigned long bytes = 0;
    struct block *b;

    if (query != NULL && strncmp(query, "?bytes=", 7) == 0)
        bytes = strtoul(query + 7, &end, 10);
    if (query == NULL || bytes == 0 || bytes > BYTES_MAX || *end != '\0') {
        answer_text(fd, 400, "put: needs ?bytes=N, 1 to 1048576\n");
        return;
    }
    *query = '\0';
    b = block_new(key, bytes);
    if (b == NULL) {
        answer_text(fd, 500, "put: no memory\n");
        return;
    }
    memset(b->text, 'x', b->n);
    block_free(store_exchange(key, b));
    answer_text(fd, 200, "stored\n");
}

static void
serve_get(int fd, const char *key)
{
    struct block *b = store_copy(key);

    if (b == NULL)
        answer_text(fd, 404, "get: there is no such key\n");
    else
        answer(fd, 200, b->text, b->n);
    block_free(b);
}

static void
serve_drop(int fd, const char *key)
{
    struct block *b = store_exchange(key, NULL);

    answer_text(fd, b != NULL ? 200 : 404,
                b != NULL ? "dropped\n" : "drop: there is no such key\n");
    block_free(b);
}

static void
serve_stats(int fd)
{
    char text[1024];
    int n = snprintf(text, sizeof text,
                     "# rate %g\n# kind requests sampled_live_bytes "
                     "counted_live_bytes\n",
                     rate);

    for (unsigned k = KIND_PUT; k < KINDS; k++)
        n += snprintf(text + n, sizeof text - (size_t)n,
                      "%s %" PRIu64 " %" PRId64 " %" PRId64 "\n", kind_name[k],
                      table[k].requests, table[k].sampled_bytes,
                      table[k].counted_bytes);
    answer(fd, 200, text, (size_t)n);
}

static _Atomic(int) is_quitting;
static int listener;

static void
serve_other(int fd, const char *path)
{
    if (strcmp(path, "/stats") == 0) {
        serve_stats(fd);
    } else if (strcmp(path, "/quit") == 0) {
        answer_text(fd, 200, "bye\n");
        is_quitting = 1;
        shutdown(listener, SHUT_RDWR); /* wakes the accepting thread */
    } else {
        answer_text(fd, 404, "there is /put /get /drop /stats /quit\n");
    }
}

/* Reads the request's first line; true when there is one. */
static int
read_path(int fd, char *line)
{
    size_t n = 0;
    char *end;

    for (;;) {
        ssize_t got = recv(fd, line + n, LINE_MAX_BYTES - 1 - n, 0);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return 0;
        n += (size_t)got;
        line[n] = '\0';
        if (strchr(line, '\n') != NULL || n == LINE_MAX_BYTES - 1)
            break;
    }
    end = line + strcspn(line, "\r\n");
    *end = '\0';
    if (strncmp(line, "GET ", 4) != 0)
        return 0;
    memmove(line, line + 4, strlen(line + 4) + 1);
    line[strcspn(line, " ")] = '\0';
    return 1;
}

static void
serve(int fd)
{
    static const struct {
        const char *prefix;
        enum kind kind;
    } route[] = {
        {"/put/", KIND_PUT}, {"/get/", KIND_GET}, {"/drop/", KIND_DROP}};
    char line[LINE_MAX_BYTES];
    char *key = line;

    if (!read_path(fd, line)) {
        answer_text(fd, 400, "not a request: GET /PATH\n");
        return;
    }
    serving = KIND_OTHER;
    for (unsigned i = 0; i < sizeof route / sizeof route[0]; i++)
        if (strncmp(line, route[i].prefix, strlen(route[i].prefix)) == 0) {
            serving = route[i].kind;
            key = line + strlen(route[i].prefix);
        }
    table[serving].requests++;
    if (serving == KIND_PUT)
        serve_put(fd, key);
    else if (serving == KIND_GET)
        serve_get(fd, key);
    else if (serving == KIND_DROP)
        serve_drop(fd, key);
    else
        serve_other(fd, line);
    serving = KIND_NONE;
}

/* ---- workers ------------------------------------------------------------ */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t has_some, has_room;
    int fd[QUEUE_MAX];
    unsigned n;
} queue = {PTHREAD_MUTEX_INITIALIZER,
           PTHREAD_COND_INITIALIZER,
           PTHREAD_COND_INITIALIZER,
           {0},
           0};

static void
queue_put(int fd)
{
    pthread_mutex_lock(&queue.lock);
    while (queue.n == QUEUE_MAX)
        pthread_cond_wait(&queue.has_room, &queue.lock);
    queue.fd[queue.n++] = fd;
    pthread_cond_signal(&queue.has_some);
    pthread_mutex_unlock(&queue.lock);
}

static int
queue_get(void)
{
    int fd;

    pthread_mutex_lock(&queue.lock);
    while (queue.n == 0)
        pthread_cond_wait(&queue.has_some, &queue.lock);
    fd = queue.fd[--queue.n];
    pthread_cond_signal(&queue.has_room);
    pthread_mutex_unlock(&queue.lock);
    return fd;
}

static void *
work(void *arg)
{
    int fd;

    (void)arg;
    while ((fd = queue_get()) >= 0) {
        serve(fd);
        close(fd);
    }
    return NULL;
}

static void
accept_all(void)
{
    while (!is_quitting) {
        int fd = accept(listener, NULL, NULL);

        if (fd >= 0)
            queue_put(fd);
        else if (errno != EINTR && errno != ECONNABORTED && !is_quitting)
            perror("request_server: accept");
    }
}

static void
run_workers(void)
{
    pthread_t id[WORKERS];
    unsigned n = 0;

    for (; n < WORKERS; n++)
        if (pthread_create(&id[n], NULL, work, NULL) != 0)
            break;
    if (n == 0)
        fprintf(stderr, "request_server: cannot create a thread\n");
    else
        accept_all();
    for (unsigned i = 0; i < n; i++)
        queue_put(-1);
    for (unsigned i = 0; i < n; i++)
        pthread_join(id[i], NULL);
}

/* ---- beginning and end -------------------------------------------------- */

static int
listen_on_loopback(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t n = sizeof a;

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&a, n) != 0 ||
        listen(listener, QUEUE_MAX) != 0 ||
        getsockname(listener, (struct sockaddr *)&a, &n) != 0) {
        perror("request_server: cannot listen on 127.0.0.1");
        return 0;
    }
    printf("listening on http://127.0.0.1:%d\n", ntohs(a.sin_port));
    fflush(stdout);
    return 1;
}

static void
store_empty(void)
{
    for (unsigned i = 0; i < BUCKETS; i++)
        while (store.bucket[i] != NULL) {
            struct block *b = store.bucket[i];

            store.bucket[i] = b->next;
            block_free(b);
        }
}

static int
usage(void)
{
    fprintf(stderr, "usage: request_server [--rate R] [--seed N]\n"
                    "R: samples per word, above 0, at most 1\n");
    return 2;
}

int
main(int argc, char **argv)
{
    const struct alq_tracker tracker = {.alloc_major = on_alloc,
                                        .dealloc_major = on_dealloc};
    struct alq_memprof_config config = ALQ_MEMPROF_CONFIG_DEFAULT;
    struct alq_profile *profile;
    enum alq_status status;

    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc)
            return usage();
        if (strcmp(argv[i], "--rate") == 0)
            rate = strtod(argv[i + 1], NULL);
        else if (strcmp(argv[i], "--seed") == 0)
            config.seed = strtoull(argv[i + 1], NULL, 10);
        else
            return usage();
    }
    if (!(rate > 0 && rate <= 1))
        return usage();
    if (!listen_on_loopback())
        return 1;
    config.rate = rate;
    config.callstack_frames = 0; /* the kind is enough here */
    status = alq_memprof_start(alq_thread_tree(), &config, &tracker, &profile);
    if (status != ALQ_OK) {
        fprintf(stderr, "request_server: %s\n", alq_status_text(status));
        return 1;
    }
    run_workers();
    status = alq_profile_stop(profile);
    store_empty(); /* what it holds was sampled: it is taken off the table */
    for (unsigned k = KIND_PUT; k < KINDS; k++)
        if (table[k].sampled_bytes != 0 || table[k].counted_bytes != 0)
            fprintf(stderr, "request_server: %s: not back to 0\n",
                    kind_name[k]);
    (void)alq_memprof_discard(profile);
    alq_profile_drop(profile);
    return status == ALQ_OK ? 0 : 1;
}
