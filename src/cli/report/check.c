/* check.c -- aliquot check [--repair OUT]: damage and nonsense in a trace
 *
 * Damage is what the reader cannot get over or passes over; nonsense are
 * events that decode but cannot be: a free of what is not there.  A repaired
 * trace is the file's unpacked bytes up to the end of its last good packet, so
 * other tools read it too. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/tool/cli.h"
#include "cli/read/input.h"
#include "cli/read/notes.h"
#include "cli/read/objects.h"
#include "cli/tool/output.h"
#include "cli/tool/pack.h"
#include "cli/read/ending.h"
#include "cli/tool/text.h"
#include "cli/tool/unpack.h"

enum { SHOWN_EACH = 10, COPY_BYTES = 65536 };

/* In an object's epoch: a promotion event was seen. */
enum { BY_EVENT = 1 };

/* The kinds of event that decode but cannot be; each has its text in find(). */
enum nonsense {
    ID_TWICE,
    FREE_UNKNOWN,
    PROMOTE_UNKNOWN,
    PROMOTE_TWICE,
    PROMOTE_MAJOR,
    LENGTH_NEGATIVE,
    CODE_UNKNOWN,
    N_NONSENSE
};

/* Options, and the state of the one pass over the trace. */
struct check {
    /* where the readable part goes; NULL: nowhere */
    const char *repair;
    /* --repair may write over a file */
    bool overwrites;
    struct alqi_cli_input *input;
    /* blocks alive */
    struct alqi_cli_objects objects;
    struct alqi_cli_notes notes; /* for how the recording ended */
    /* of all kinds, damage included; above 0 the status is FINDING */
    uint64_t n_findings;
    /* read so far; the number of the present one in messages */
    uint64_t n_events;
    /* by kind */
    uint64_t counts[N_NONSENSE];
};

const struct alqi_cli_option alqi_cli_check_options[] = {
    {0, "repair", "OUT", NULL, "write the readable part of the trace to OUT",
     ALQI_CLI_TEXT(struct check, repair)},
    {'f', "force", NULL, NULL, "overwrite OUT",
     ALQI_CLI_FLAG(struct check, overwrites)},
    {0},
};

/* The input's callback: the reader passes over the damage and goes on. */
static void
warned(void *arg, uint64_t offset_bytes, const char *text)
{
    struct check *c = arg;

    c->n_findings++;
    printf("byte %" PRIu64 ": %s\n", offset_bytes, text);
}

/* Counts a finding and prints the first SHOWN_EACH of its kind: one broken
 * writer can make millions. */
static void
find(struct check *c, enum nonsense kind, const struct alqi_ctf_event *e)
{
    static const char *const texts[N_NONSENSE] = {
        [ID_TWICE] = "is allocated while it is alive",
        [FREE_UNKNOWN] = "is freed but not alive",
        [PROMOTE_UNKNOWN] = "is promoted but not alive",
        [PROMOTE_TWICE] = "is promoted again",
        [PROMOTE_MAJOR] = "is promoted but was not in the minor heap",
        [LENGTH_NEGATIVE] = "has a negative length",
        [CODE_UNKNOWN] = "has a stack with a location never announced",
    };
    uint64_t n = c->counts[kind]++;

    c->n_findings++;
    if (n < SHOWN_EACH)
        printf("event %" PRIu64 ": block %" PRIu64 " %s\n", c->n_events, e->id,
               texts[kind]);
    else if (n == SHOWN_EACH)
        printf("more blocks of that kind: \"%s\"\n", texts[kind]);
}

/* Adds the block to those alive; a block that is not from the minor heap counts
 * as promoted. Each stack is reported once, however many locations it lacks. */
static void
check_alloc(struct check *c, const struct alqi_ctf_event *e)
{
    struct alqi_cli_object *o =
        alqi_cli_objects_add(&c->objects, e->id, (struct alqi_cli_birth){0});
    struct alqi_ctf_reader *reader = alqi_cli_input_reader(c->input);

    if (o == NULL)
        find(c, ID_TWICE, e);
    else
        o->is_promoted = e->source != ALQI_CTF_MINOR;
    if (e->length < 0)
        find(c, LENGTH_NEGATIVE, e);
    for (uint32_t i = 0; i < e->n_codes; i++)
        if (alqi_ctf_reader_location(reader, e->codes[i]) == NULL) {
            find(c, CODE_UNKNOWN, e);
            break;
        }
}

/* Holds an event against the blocks alive. An object's epoch is free here and
 * says how it was promoted, so that the two mistakes have different texts. */
static void
check_event(struct check *c, const struct alqi_ctf_event *e)
{
    struct alqi_cli_object *o;
    struct alqi_cli_life freed;

    switch (e->kind) {
    case ALQI_CTF_LOCATION:
        alqi_cli_notes_take(&c->notes, &e->location);
        break;
    case ALQI_CTF_ALLOC:
        check_alloc(c, e);
        break;
    case ALQI_CTF_PROMOTE:
        o = alqi_cli_objects_find(&c->objects, e->id);
        if (o == NULL)
            find(c, PROMOTE_UNKNOWN, e);
        else if (o->is_promoted)
            find(c, o->epoch == BY_EVENT ? PROMOTE_TWICE : PROMOTE_MAJOR, e);
        else {
            o->is_promoted = true;
            o->epoch = BY_EVENT;
        }
        break;
    case ALQI_CTF_COLLECT:
        if (!alqi_cli_objects_take(&c->objects, e->id, &freed))
            find(c, FREE_UNKNOWN, e);
        break;
    }
}

/* ---- repair ---------------------------------------------------------- */

/* Copies n unpacked bytes. False: there are fewer. A failed write is not told
 * here, as the close will tell it. */
static bool
copy(struct alqi_cli_unpack *from, FILE *to, uint64_t n)
{
    static char buffer[COPY_BYTES];

    while (n > 0) {
        ptrdiff_t k = alqi_cli_unpack_read(
            from, buffer, n < COPY_BYTES ? (size_t)n : COPY_BYTES);

        if (k <= 0)
            return false;
        if (fwrite(buffer, 1, (size_t)k, to) != (size_t)k)
            return true; /* output_close says it */
        n -= (size_t)k;
    }
    return true;
}

/* Writes the trace up to its last good packet. The input is opened again, as it
 * may have been a pipe's copy. Returns -1 when it is written, else the status
 * to exit with. */
static int
repair(struct check *c)
{
    uint64_t n = alqi_ctf_reader_offset_bytes(alqi_cli_input_reader(c->input));
    struct alqi_cli_unpack *from;
    struct alqi_cli_output out;
    const char *path = alqi_cli_input_name(c->input);
    int fd = alqi_cli_input_again(c->input);
    int rc;

    if (fd < 0)
        return alqi_cli_unreadable("cannot read %s again: %s", path,
                                   strerror(errno));
    from = alqi_cli_unpack_new(fd);
    rc = alqi_cli_output_open(&out, c->repair, c->overwrites);
    if (rc < 0 && !copy(from, out.file, n)) {
        alqi_cli_say("%s became shorter while it was read", path);
        alqi_cli_output_abandon(&out);
        rc = ALQI_CLI_UNREADABLE;
    } else if (rc < 0) {
        rc = alqi_cli_output_close(&out);
    }
    alqi_cli_unpack_drop(from);
    close(fd);
    if (rc != ALQI_CLI_OK)
        return rc;
    fprintf(stderr, "aliquot: wrote %" PRIu64 " bytes%s to %s\n", n,
            alqi_cli_pack_is_meant(c->repair) ? ", compressed," : "",
            alqi_cli_shown(c->repair).text);
    return -1;
}

/* ---- the verb -------------------------------------------------------- */

/* Reads the whole trace and prints each finding as it comes; damage that stops
 * the reader is the last one. */
static void
read_all(struct check *c)
{
    struct alqi_cli_names *names = alqi_cli_names_new();
    struct alqi_ctf_event event;
    const char *damage;

    alqi_cli_notes_init(&c->notes, names);
    alqi_cli_objects_init(&c->objects);
    while (alqi_cli_input_next(c->input, &event)) {
        c->n_events++;
        check_event(c, &event);
    }
    if (c->notes.n_nameless_marks > 0) {
        c->n_findings++;
        printf("%" PRIu64 " mark%s without a name\n", c->notes.n_nameless_marks,
               c->notes.n_nameless_marks == 1 ? " is" : "s are");
    }
    alqi_cli_objects_free(&c->objects);
    alqi_cli_end_say(&c->notes, c->input);
    alqi_cli_notes_free(&c->notes);
    alqi_cli_names_drop(names);
    damage = alqi_cli_input_damage(c->input);
    if (damage[0] == '\0')
        return;
    c->n_findings++;
    printf("damaged after byte %" PRIu64 ", event %" PRIu64 ": %s\n",
           alqi_ctf_reader_offset_bytes(alqi_cli_input_reader(c->input)),
           c->n_events, damage);
}

/* Parses the command line. A repair needs a file that can be read twice and is
 * not the one it writes. */
static int
operands(struct check *c, int argc, char **argv, const char **path)
{
    int first;
    int rc = alqi_cli_parse("check", argc, argv, c, &first);

    if (rc < 0)
        rc = alqi_cli_one_operand("check", "trace", argc, argv, first, path);
    if (rc < 0 && c->repair != NULL && strcmp(*path, "-") == 0)
        return alqi_cli_usage("check", "check: --repair needs a file, not '-'");
    if (rc < 0 && c->repair != NULL && alqi_cli_output_is(c->repair, *path))
        return alqi_cli_usage("check",
                              "check: %s is the trace to read; write to "
                              "another file",
                              c->repair);
    return rc;
}

/* A repair is made of a trace without findings, too. FINDING tells scripts that
 * something was found. */
int
alqi_cli_check(int argc, char **argv)
{
    struct check c;
    const char *path;
    int rc;

    memset(&c, 0, sizeof c);
    rc = operands(&c, argc, argv, &path);
    if (rc < 0)
        rc = alqi_cli_input_open(path, warned, &c, &c.input);
    if (rc >= 0)
        return rc;
    read_all(&c);
    if (c.n_findings == 0)
        printf("%s: %" PRIu64 " events, no findings\n",
               alqi_cli_shown(alqi_cli_input_name(c.input)).text, c.n_events);
    else
        printf("%s: %" PRIu64 " events, %" PRIu64 " finding%s\n",
               alqi_cli_shown(alqi_cli_input_name(c.input)).text, c.n_events,
               c.n_findings, c.n_findings == 1 ? "" : "s");
    if (c.repair != NULL)
        rc = repair(&c);
    alqi_cli_input_drop(c.input);
    if (rc >= 0)
        return rc;
    return c.n_findings == 0 ? ALQI_CLI_OK : ALQI_CLI_FINDING;
}
