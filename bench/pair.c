/* ns per malloc+free pair.  build: cc -O2 -pthread pair.c -o pair
 * usage: pair [PAIRS_MILLIONS] [THREADS] [SIZE|0=mix]   prints the median of 7
 * rounds Pattern "hot": malloc(n); free() at once.  Pattern "batch": 64 blocks,
 * then free all. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static long n = 5000000;
static int size = 64;
static pthread_barrier_t bar;
static double
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}
static const unsigned short mix[16] = {16, 24, 32,  32,  40,  48,  64,  64,
                                       80, 96, 128, 160, 200, 256, 320, 500};
static double res[64][2];
static void *
work(void *a)
{
    long me = (long)a;
    void *b[64];
    double h[7], c[7];
    for (int r = 0; r < 7; r++) {
        pthread_barrier_wait(&bar);
        double t = now();
        for (long i = 0; i < n; i++) {
            char *p = malloc(size ? size : mix[i & 15]);
            *(volatile char *)p = 1;
            free(p);
        }
        h[r] = (now() - t) / n;
        pthread_barrier_wait(&bar);
        t = now();
        for (long i = 0; i < n / 64; i++) {
            for (int j = 0; j < 64; j++) {
                b[j] = malloc(size ? size : mix[j & 15]);
                *(volatile char *)b[j] = 1;
            }
            for (int j = 0; j < 64; j++)
                free(b[j]);
        }
        c[r] = (now() - t) / (n / 64 * 64);
    }
    for (int r = 1; r < 7; r++)
        for (int j = r; j; j--) {
            if (h[j] < h[j - 1]) {
                double x = h[j];
                h[j] = h[j - 1];
                h[j - 1] = x;
            }
            if (c[j] < c[j - 1]) {
                double x = c[j];
                c[j] = c[j - 1];
                c[j - 1] = x;
            }
        }
    res[me][0] = h[3];
    res[me][1] = c[3];
    return 0;
}
int
main(int argc, char **argv)
{
    int th = 1;
    pthread_t t[64];
    if (argc > 1)
        n = (long)(atof(argv[1]) * 1e6);
    if (argc > 2)
        th = atoi(argv[2]);
    if (argc > 3)
        size = atoi(argv[3]);
    pthread_barrier_init(&bar, 0, th);
    for (long i = 0; i < th; i++)
        pthread_create(&t[i], 0, work, (void *)i);
    for (int i = 0; i < th; i++)
        pthread_join(t[i], 0);
    printf("hot %.2f ns/pair  batch64 %.2f ns/pair  (threads %d, size %d)\n",
           res[0][0], res[0][1], th, size);
    return 0;
}
