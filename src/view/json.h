/* json.h -- JSON in bounded room */
#ifndef ALQI_VIEW_JSON_H
#define ALQI_VIEW_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zeros is an empty text.  Whoever writes sets `most` first. */
struct alqi_view_json {
    /* not NUL-terminated; the owner's to free; room is used again */
    char *text;
    /* bytes written, bytes of room */
    size_t n, capacity;
    /* bytes that may be written; the writer sets it first */
    size_t most;
    /* no room or no memory: the text is not whole, and nothing is added */
    bool has_failed;
    /* a value stands before the place in the same bracket */
    bool needs_comma;
};

void alqi_view_json_open(struct alqi_view_json *json, char bracket);
void alqi_view_json_close(struct alqi_view_json *json, char bracket);
void alqi_view_json_key(struct alqi_view_json *json, const char *key);
void alqi_view_json_text(struct alqi_view_json *json, const char *text);
void alqi_view_json_int(struct alqi_view_json *json, int64_t value);
/* The nearest whole number, halves away from zero, clamped to 9e18. */
int64_t alqi_view_json_rounded(double value);
/* Writes that. */
void alqi_view_json_whole(struct alqi_view_json *json, double value);
/* Writes a number with all its digits; null if it is not finite. */
void alqi_view_json_real(struct alqi_view_json *json, double value);
void alqi_view_json_bool(struct alqi_view_json *json, bool value);
void alqi_view_json_null(struct alqi_view_json *json);

/* A key and its value. */
void alqi_view_json_key_int(struct alqi_view_json *json, const char *key,
                            int64_t value);
void alqi_view_json_key_text(struct alqi_view_json *json, const char *key,
                             const char *text);

/* Bytes that a text takes, quotes included. */
size_t alqi_view_json_bytes(const char *text);

#endif
