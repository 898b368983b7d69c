/* lsan_tls.c -- a library whose thread-local memory is too large for the room
 * that the loader keeps: it is allocated when a thread first uses it. */
void **lsan_tls_keep(void *p);

static __thread void *kept[(1 << 20) / sizeof(void *)];

void **
lsan_tls_keep(void *p)
{
    kept[1000] = p;
    return &kept[1000];
}
