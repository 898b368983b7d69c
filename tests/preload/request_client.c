/* request_client.c -- several clients of examples/request_server, and a judge
 *
 * usage: request_client PORT CLIENTS REQUESTS SEED
 *
 * Each client puts, gets and drops keys of its own, so it knows what the server
 * holds of it.  When all have ended, /stats is held against that, and the
 * profile's bytes against the count: at ratio 1 they are equal.  Below, a
 * byte's weight is at most 8 / rate and the variance of an estimate of T bytes
 * at most 8 * T / rate; Bernstein's inequality then bounds the error, but for
 * 1e-12 of the runs.  In the end all is dropped, and both must be 0. */
#include <arpa/inet.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CLIENTS_MAX = 16, KEYS = 200, ANSWER_MAX = 1 << 20, BYTES_MAX = 50000 };

struct client {
    pthread_t id;
    unsigned number;
    uint64_t seed;
    unsigned n_requests;
    unsigned long puts, gets, drops;
    unsigned n_live;
    long live_bytes;
    unsigned bytes[KEYS]; /* 0: not there */
};

static in_port_t port;

static void
die(const char *what)
{
    perror(what);
    exit(1);
}

/* Reads the whole answer, which the server ends by closing: then it is done
 * with the request.  Returns the length of its body, -1 for an error's. */
static long
ask(const char *path, char *answer)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = port};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    char line[128];
    size_t n = 0;
    ssize_t got;
    char *body;

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof a) != 0)
        die("request_client: connect");
    snprintf(line, sizeof line, "GET %s HTTP/1.0\r\n\r\n", path);
    if (send(fd, line, strlen(line), 0) != (ssize_t)strlen(line))
        die("request_client: send");
    while ((got = recv(fd, answer + n, ANSWER_MAX - 1 - n, 0)) > 0)
        n += (size_t)got;
    if (got < 0)
        die("request_client: recv");
    close(fd);
    answer[n] = '\0';
    body = strstr(answer, "\r\n\r\n");
    if (body == NULL || strncmp(answer, "HTTP/1.0 200", 12) != 0)
        return -1;
    n -= (size_t)(body + 4 - answer);
    memmove(answer, body + 4, n + 1);
    return (long)n;
}

static uint64_t
next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static void
expect(int is_right, const char *what, const char *path)
{
    if (is_right)
        return;
    printf("wrong: %s: %s\n", path, what);
    exit(1);
}

static void
put(struct client *c, unsigned k, char *answer)
{
    unsigned bytes = 1 + (unsigned)next(&c->seed) % BYTES_MAX;
    char path[64];

    snprintf(path, sizeof path, "/put/%03u-%04u?bytes=%u", c->number, k, bytes);
    expect(ask(path, answer) > 0, "refused", path);
    c->n_live += c->bytes[k] == 0;
    c->live_bytes += (long)bytes - (long)c->bytes[k];
    c->bytes[k] = bytes;
    c->puts++;
}

static void
get_or_drop(struct client *c, const char *verb, unsigned k, char *answer)
{
    int is_get = strcmp(verb, "get") == 0;
    char path[64];
    long n;

    snprintf(path, sizeof path, "/%s/%03u-%04u", verb, c->number, k);
    n = ask(path, answer);
    expect(c->bytes[k] == 0 ? n == -1
           : is_get         ? n == c->bytes[k]
                            : n > 0,
           "not what was put there", path);
    c->gets += (unsigned)is_get;
    c->drops += !is_get;
    if (is_get)
        return;
    c->n_live -= c->bytes[k] != 0;
    c->live_bytes -= (long)c->bytes[k];
    c->bytes[k] = 0;
}

static void *
work(void *arg)
{
    struct client *c = arg;
    char *answer = malloc(ANSWER_MAX);

    for (unsigned i = 0; i < c->n_requests; i++) {
        unsigned k = (unsigned)next(&c->seed) % KEYS;

        switch (next(&c->seed) % 4) {
        case 0:
        case 1:
            put(c, k, answer);
            break;
        case 2:
            get_or_drop(c, "get", k, answer);
            break;
        default:
            get_or_drop(c, "drop", k, answer);
        }
    }
    free(answer);
    return NULL;
}

static void *
drop_all(void *arg)
{
    struct client *c = arg;
    char *answer = malloc(ANSWER_MAX);

    for (unsigned k = 0; k < KEYS; k++)
        get_or_drop(c, "drop", k, answer);
    free(answer);
    return NULL;
}

/* ---- the judge ---------------------------------------------------------- */

struct row {
    unsigned long requests;
    long sampled, counted;
};

static struct row
row_of(const char *stats, const char *kind)
{
    char start[16];
    struct row r;
    const char *at;

    snprintf(start, sizeof start, "\n%s ", kind);
    at = strstr(stats, start);
    if (at == NULL || sscanf(at + strlen(start), "%lu %ld %ld", &r.requests,
                             &r.sampled, &r.counted) != 3)
        expect(0, "no row for this kind", kind);
    return r;
}

static double
error_bound(double bytes, double rate)
{
    const double l = log(2 / 1e-12);
    double most = 8 / rate, variance = 8 * bytes * (1 - rate) / rate;

    return most * l / 3 +
           sqrt(most * l / 3 * (most * l / 3) + 2 * variance * l);
}

static double
rate_of(const char *stats)
{
    double rate = 0;

    expect(sscanf(stats, "# rate %lf", &rate) == 1, "no rate", "/stats");
    return rate;
}

static void
judge_put(const struct row *r, double rate, const struct client *all)
{
    double off = fabs((double)(r->sampled - r->counted));
    double bound = rate == 1 ? 0 : error_bound((double)r->counted, rate);
    long over = r->counted - all->live_bytes; /* the blocks' heads and keys */

    printf("%u keys, %ld bytes: counted %ld, sampled %ld, off by %.2f %% of "
           "at most %.2f %%\n",
           all->n_live, all->live_bytes, r->counted, r->sampled,
           100 * off / (double)r->counted, 100 * bound / (double)r->counted);
    expect(all->n_live > 100, "too few keys are left to judge", "clients");
    expect(over > 0 && over % all->n_live == 0 && over / all->n_live < 128,
           "the count is not what the clients have put", "/stats");
    expect(bound < 0.5 * (double)r->counted, "the bound says nothing", "rate");
    /* Each estimate is rounded to a byte. */
    expect(off <= bound + (rate == 1 ? 0 : 0.5 * all->n_live),
           "the profile's bytes are not the count's", "/stats");
}

static void
judge(const char *stats, const struct client *all)
{
    struct row p = row_of(stats, "put"), g = row_of(stats, "get");
    struct row d = row_of(stats, "drop"), o = row_of(stats, "other");

    expect(p.requests == all->puts && g.requests == all->gets &&
               d.requests == all->drops && o.requests >= 1,
           "requests are lost", "/stats");
    expect(g.sampled == 0 && g.counted == 0 && d.sampled == 0 && d.counted == 0,
           "requests that keep nothing hold memory", "/stats");
    if (all->n_live == 0)
        expect(p.sampled == 0 && p.counted == 0, "not back to 0", "/stats");
    else
        judge_put(&p, rate_of(stats), all);
}

static void
run(struct client *c, unsigned n, void *(*body)(void *))
{
    static char stats[ANSWER_MAX];
    struct client all = {0};

    for (unsigned i = 0; i < n; i++)
        if (pthread_create(&c[i].id, NULL, body, &c[i]) != 0)
            die("request_client: pthread_create");
    for (unsigned i = 0; i < n; i++) {
        pthread_join(c[i].id, NULL);
        all.puts += c[i].puts;
        all.gets += c[i].gets;
        all.drops += c[i].drops;
        all.n_live += c[i].n_live;
        all.live_bytes += c[i].live_bytes;
    }
    expect(ask("/stats", stats) > 0, "refused", "/stats");
    judge(stats, &all);
}

int
main(int argc, char **argv)
{
    static struct client c[CLIENTS_MAX];
    static char answer[ANSWER_MAX];
    unsigned n;

    if (argc != 5)
        return 2;
    port = htons((uint16_t)atoi(argv[1]));
    n = (unsigned)atoi(argv[2]);
    if (n > CLIENTS_MAX)
        return 2;
    for (unsigned i = 0; i < n; i++) {
        c[i].number = i;
        c[i].n_requests = (unsigned)atoi(argv[3]);
        c[i].seed = strtoull(argv[4], NULL, 10) * 1000 + i;
    }
    run(c, n, work);
    run(c, n, drop_all);
    expect(ask("/put/x?bytes=0", answer) == -1, "taken", "/put/x?bytes=0");
    expect(ask("/put/x?bytes=7z", answer) == -1, "taken", "/put/x?bytes=7z");
    expect(ask("/nothing", answer) == -1, "found", "/nothing");
    expect(ask("/put/left?bytes=1000", answer) > 0, "refused", "/put/left");
    expect(ask("/quit", answer) > 0, "refused", "/quit");
    printf("ok\n");
    return 0;
}
