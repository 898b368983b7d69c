/* gc_program.c -- a program on the heap, to be recorded: DOMAINS ROUNDS [MODE]
 *
 * Prints the pauses as the heap counts them.  MODE: "exit" leaves without
 * dropping the heap, "kill" by SIGKILL. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <aliquot/aliquot.h>

enum { KEPT = 1000 };

static unsigned long rounds;

static void
must(int is_true, const char *what)
{
    if (is_true)
        return;
    fprintf(stderr, "gc_program: %s\n", what);
    exit(1);
}

static void
work(struct alq_domain *d)
{
    ALQ_FRAME(d, f, kept, text);
    unsigned long i;

    f.kept = alq_alloc(d, KEPT, 0);
    for (i = 0; i < rounds; i++) {
        alq_value pair;

        f.text = alq_alloc_string(d, i % 50);
        pair = alq_alloc_small(d, 2, 0);
        alq_init_small(pair, 0, f.text);
        alq_init_small(pair, 1,
                       i % 7 == 0 ? ALQ_UNIT : alq_field(f.kept, i % KEPT));
        alq_store(d, f.kept, i % KEPT, pair);
    }
    must(alq_status_of(d) == ALQ_OK, "no memory");
}

static struct alq_domain *
begin(void)
{
    struct alq_domain_config config = {.minor_words = 16384};
    struct alq_domain *d = NULL;

    must(alq_domain_new(&config, &d) == ALQ_OK, "no domain");
    return d;
}

static void *
another(void *arg)
{
    struct alq_domain *d = begin();

    (void)arg;
    work(d);
    alq_domain_drop(d);
    return NULL;
}

int
main(int argc, char **argv)
{
    unsigned i, n_domains = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    const char *mode = argc > 3 ? argv[3] : "";
    static struct alq_pauses pauses;
    struct alq_domain *d = begin();
    pthread_t threads[128];

    rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 100000;
    must(n_domains >= 1 && n_domains <= 128, "1 to 128 domains");
    for (i = 1; i < n_domains; i++)
        must(pthread_create(&threads[i], NULL, another, NULL) == 0,
             "no thread");
    work(d);
    if (n_domains == 1)
        alq_gc_full_major(d);
    else
        while (rounds > 0 && i-- > 1) {
            /* Polls, so that the others' stops go on. */
            while (pthread_tryjoin_np(threads[i], NULL) != 0)
                alq_poll(d);
        }
    must(alq_pauses_get_all(d, &pauses) == ALQ_OK, "pauses");
    printf("%llu %llu %llu\n", (unsigned long long)pauses.count,
           (unsigned long long)pauses.sum_ns,
           (unsigned long long)pauses.max_ns);
    fflush(stdout);
    if (strcmp(mode, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(mode, "exit") == 0)
        exit(0);
    alq_domain_drop(d);
    return 0;
}
