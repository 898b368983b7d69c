/* top_screen.h -- the state of `aliquot top`'s screen */
#ifndef ALQI_CLI_LIVE_TOP_SCREEN_H
#define ALQI_CLI_LIVE_TOP_SCREEN_H

#include "cli/report/draw.h"
#include "cli/live/top.h"

enum alqi_cli_screen_mode {
    ALQI_CLI_SCREEN_TABLE,
    ALQI_CLI_SCREEN_PROMPT, /* a filter is typed */
    ALQI_CLI_SCREEN_HELP,
    ALQI_CLI_SCREEN_LIST
};

struct alqi_cli_screen {
    struct alqi_cli_top *top;
    enum alqi_cli_screen_mode mode;
    /* of the tree; valid until it is renewed */
    struct alqi_cli_top_row *rows;
    uint32_t n_rows, rows_capacity;
    uint32_t first, cursor; /* of the rows: the first to be seen, the marked */
    uint32_t choice;        /* of the list */
    /* what is typed in the prompt */
    char typed[sizeof((struct alqi_cli_top *)NULL)->filter];
    char message[ALQI_CLI_TOP_TEXT_BYTES]; /* until the next key */
    uint64_t next_us; /* the next picture, of alqi_cli_mono_us() */
    bool is_reading;  /* and not level yet  */
    bool is_stale;    /* to be drawn        */
    bool is_over;
    int snapshot_fd; /* what the one that is made says; -1: none is made */
    /* valid while snapshot_fd is not -1 */
    pid_t snapshot_pid;
    /* so far; its last line becomes the message */
    char snapshot_said[ALQI_CLI_TOP_TEXT_BYTES];
};

/* Rows that the screen has room for. */
int alqi_cli_screen_room(void);
/* Picture, tree and rows anew, of what has been read. */
void alqi_cli_screen_renew(struct alqi_cli_screen *screen);

/* ---- top_keys.c ---------------------------------------------------------- */

void alqi_cli_screen_key(struct alqi_cli_screen *screen, int key);
void alqi_cli_screen_help(const struct alqi_cli_term *term);

/* ---- top_snapshot.c ------------------------------------------------------ */

/* A snapshot by another aliquot, so that the screen goes on meanwhile. */
void alqi_cli_screen_snapshot(struct alqi_cli_screen *screen);
/* Says what became of it, once. */
void alqi_cli_screen_snapshot_wait(struct alqi_cli_screen *screen);
/* Waits until it is made. */
void alqi_cli_screen_snapshot_end(struct alqi_cli_screen *screen);

#endif
