/*
 * record.h: what stands in the values of the databases.
 *
 * Every value is
 *
 *   version (1) | kind (1) | fixed fields | strings | check (8)
 *
 * numbers big-endian, a string as its length (2) and bytes.  The check is
 * SipHash-2-4 of all that stands before it, keyed with the database key (zero
 * filled): LMDB 0.9 has no checksums, and a flipped bit or a value that turns
 * up under another key must not change who somebody is.  It is no secret and
 * keeps nobody out.
 *
 * Decoders believe nothing: every length is checked, bytes left over are
 * refused, and a record they refuse leaves the caller's struct undefined.
 * STORE_CORRUPT, or STORE_VERSION for a version that this code does not know.
 * Encoders give STORE_INVALID for a value out of its range.
 */

#ifndef STORE_RECORD_H_INCLUDED
#define STORE_RECORD_H_INCLUDED


#include "store.h"


/* more than the longest record: a session, 932 bytes */
#define STORE_RECORD_MAX  1280

#define STORE_CHECK_BYTES  8

/* Times are bounded so that no sum of one and a lifetime overflows. */
#define STORE_TIME_MAX  ((int64_t) 1 << 48)


/* A session and what only the store knows of it: the time under which it
 * stands in session_by_expiry. */
typedef struct {
    store_session_t  session;
    int64_t          indexed;
} store_live_t;


int store_session_encode(const store_live_t *live,
    uint8_t buf[STORE_RECORD_MAX], size_t *n) STORE_CHECK_RESULT;
/* indexed may be NULL. */
int store_session_decode(const uint8_t key[STORE_KEY_BYTES], const void *data,
    size_t n, store_session_t *session, int64_t *indexed) STORE_CHECK_RESULT;

int store_user_encode(const store_user_t *user, uint8_t buf[STORE_RECORD_MAX],
    size_t *n) STORE_CHECK_RESULT;
int store_user_decode(const uint8_t id[STORE_USER_BYTES], const void *data,
    size_t n, store_user_t *user) STORE_CHECK_RESULT;

/* Of the change feed and of the events alike. */
int store_event_encode(const store_event_t *event,
    uint8_t buf[STORE_RECORD_MAX], size_t *n) STORE_CHECK_RESULT;
int store_event_decode(uint64_t seq, const void *data, size_t n,
    store_event_t *event) STORE_CHECK_RESULT;

/* Writes the check over buf[0..n) at buf + n. */
void store_record_seal(const void *key, size_t key_len, uint8_t *buf,
    size_t n);

/* Numbers in database keys. */
void store_be64_put(uint8_t *p, uint64_t value);
uint64_t store_be64_get(const uint8_t *p);


#endif /* STORE_RECORD_H_INCLUDED */
