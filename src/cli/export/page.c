/* page.c -- the viewer's page with its data inside, as one file
 *
 * What `aliquot view` serves, with the engine as WebAssembly in place of the
 * server, and the summary for those who cannot run it.  Engine and index are
 * script elements of type text/plain, which no browser runs: gzip, then
 * base64. */
#include <stdlib.h>
#include <zlib.h>

#include "cli/tool/cli.h"
#include "cli/tool/page.h"
#include "cli/export/page_index.h"
#include "cli/export/summary.h"

enum { BUFFER_BYTES = 48 << 10, GZIP = 16 /* added to the window bits */ };

_Static_assert(BUFFER_BYTES % 3 == 0, "only the last piece is padded");

/* ---- base64 -------------------------------------------------------------- */

/* Pads only where n is no multiple of three. */
static void
put_base64(FILE *out, const unsigned char *bytes, size_t n)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < n; i += 3) {
        uint32_t word = (uint32_t)bytes[i] << 16;

        if (i + 1 < n)
            word |= (uint32_t)bytes[i + 1] << 8;
        if (i + 2 < n)
            word |= bytes[i + 2];
        putc(digits[word >> 18], out);
        putc(digits[word >> 12 & 63], out);
        putc(i + 1 < n ? digits[word >> 6 & 63] : '=', out);
        putc(i + 2 < n ? digits[word & 63] : '=', out);
    }
}

/* ---- compression --------------------------------------------------------- */

struct packer {
    FILE *out;
    z_stream z;
    unsigned char packed[BUFFER_BYTES];
};

/* Compresses n bytes; writes packed bytes each time the buffer is full, and
 * with Z_FINISH what is left. Whole buffers have a multiple of three bytes, so
 * base64 pads only at the end. */
static void
pack(struct packer *p, const void *bytes, size_t n, int flush)
{
    p->z.next_in = (unsigned char *)(uintptr_t)bytes;
    p->z.avail_in = (uInt)n;
    for (;;) {
        int rc = deflate(&p->z, flush);

        if (p->z.avail_out > 0 && rc != Z_STREAM_END)
            return;
        put_base64(p->out, p->packed, sizeof p->packed - p->z.avail_out);
        p->z.next_out = p->packed;
        p->z.avail_out = sizeof p->packed;
        if (rc == Z_STREAM_END)
            return;
    }
}

/* Begins an element of that kind; packer_close() ends it. */
static void
packer_open(struct packer *p, FILE *out, const char *kind)
{
    *p = (struct packer){.out = out};
    if (deflateInit2(&p->z, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + GZIP,
                     MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
        alqi_cli_die("out of memory for the page");
    p->z.next_out = p->packed;
    p->z.avail_out = sizeof p->packed;
    fprintf(out, "<script type=\"text/plain\" data-kind=%s>", kind);
}

static void
packer_close(struct packer *p)
{
    pack(p, "", 0, Z_FINISH);
    deflateEnd(&p->z);
    fputs("</script>\n", p->out);
}

/* ---- the page ------------------------------------------------------------ */

/* The engine as it is in the program (tool/page.h). */
static void
put_engine(FILE *out)
{
    struct packer p;
    size_t n;
    const char *engine = alqi_cli_page_engine(&n);

    packer_open(&p, out, "engine");
    pack(&p, engine, n, Z_NO_FLUSH);
    packer_close(&p);
}

/* The index from where the file stands, piece by piece. */
static void
put_index(FILE *index, FILE *out)
{
    struct packer p;
    char bytes[BUFFER_BYTES];
    size_t n;

    packer_open(&p, out, "index");
    while ((n = fread(bytes, 1, sizeof bytes, index)) > 0)
        pack(&p, bytes, n, Z_NO_FLUSH);
    packer_close(&p);
}

/* The script stands last: it finds engine and index above it in the page. */
void
alqi_cli_export_page(struct alqi_cli_export *export, FILE *out)
{
    size_t n;
    char *summary = alqi_cli_summary_make(export, true, &n);

    fwrite(summary, 1, n, out);
    free(summary);
    fputs("</div>\n", out);
    put_engine(out);
    put_index(alqi_cli_page_index_file(export->index), out);
    fprintf(out, "<script>%s</script>\n</body>\n</html>\n",
            alqi_cli_page_script);
}
