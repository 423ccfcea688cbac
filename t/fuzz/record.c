/* record.c: a record is taken exactly when a walk over a table of its fields
 * fits it, and what was decoded encodes to the same bytes.  Of each that is
 * taken, a start and one other bit are refused. */

#include "fuzz.h"
#include "record.h"
#include "text/siphash.h"


/* n: a number; t: a time; b: bytes; s: a string; each with its size. */
static const char *const  fields[] = {
    "",
    "b8 n8 t8 t8 t8 t8 t8 n4 n4 n1 s32 s128 s128 s256 s45 s256",
    "n4 n8 t8 t8 t8 s32 s128 s128 s256 s192",
    "n1 n1 n1 n4 n4 t8 n8 b8 b16 s32 s128 s45 s256"
};

#define SESSION_ENDED  (2 + 8 + 8 + 3 * 8)
#define SESSION_END    (2 + 8 + 8 + 5 * 8 + 2 * 4)


static uint64_t
number(const uint8_t *p, size_t n)
{
    return n == 0 ? 0 : number(p, n - 1) << 8 | p[n - 1];
}


static int
expect(unsigned kind, const uint8_t *p, size_t n)
{
    size_t       i, size;
    const char  *f;

    if (n < 2 || p[0] != 1 || p[1] != kind) {
        return 0;
    }

    for (f = fields[kind], i = 2; f != NULL; f = strchr(f, ' ')) {
        f += *f == ' ';
        size = strtoul(f + 1, NULL, 10);

        if (*f == 's') {
            if (n - i < 2 || number(p + i, 2) > size) {
                return 0;
            }

            size = number(p + i, 2);
            i += 2;
        }

        if (n - i < size || (*f == 't' && number(p + i, 8) > 1ULL << 48)) {
            return 0;
        }

        i += size;
    }

    if (i != n) {
        return 0;
    }

    switch (kind) {

    case 1:
        return p[SESSION_END] <= 31
               && !p[SESSION_END] == !number(p + SESSION_ENDED, 8);

    case 3:
        return p[2] >= 1 && p[2] <= 31 && p[3] <= 2 && p[4] <= 31;

    default:
        return 1;
    }
}


/* What decodes is encoded again, into out; 0: refused. */
static int
decode(unsigned kind, const uint8_t *key, const uint8_t *in, size_t size,
    uint8_t *out, size_t *n)
{
    int            rc;
    store_live_t   live;
    store_user_t   user;
    store_event_t  event;

    switch (kind) {

    case 1:
        rc = store_session_decode(key, in, size, &live.session, &live.indexed);
        fuzz_check(rc != STORE_OK || !store_session_encode(&live, out, n));
        break;

    case 2:
        rc = store_user_decode(key, in, size, &user);
        fuzz_check(rc != STORE_OK || !store_user_encode(&user, out, n));
        break;

    default:
        rc = store_event_decode(number(key, 8), in, size, &event);
        fuzz_check(rc != STORE_OK || !store_event_encode(&event, out, n));
        break;
    }

    fuzz_check(rc == STORE_OK || rc == STORE_CORRUPT || rc == STORE_VERSION);

    return rc == STORE_OK;
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int       good;
    size_t    i, n, all;
    uint8_t  *in, out[STORE_RECORD_MAX], key[16] = "kkkkkkkk";
    uint64_t  check;
    unsigned  kind;

    all = size + STORE_CHECK_BYTES;

    if (size < 2 || all > STORE_RECORD_MAX) {
        return 0;
    }

    kind = data[1] % 4 ? data[1] % 4 : 1;
    memcpy(key + 8, kind == 1 ? "kkkkkkkk" : "\0\0\0\0\0\0\0\0", 8);
    memcpy(in = fuzz_buffer(all), data, size);
    check = text_siphash(key, in, size);

    for (i = 0; i < 8; i++) {
        in[size + i] = (uint8_t) (check >> (8 * i));
    }

    good = expect(kind, in, size);
    fuzz_check(decode(kind, key, in, all, out, &n) == good);

    if (good) {
        fuzz_check(fuzz_same(in, all, out, n));
        fuzz_check(!decode(kind, key, in, check % all, out, &n));
        in[check % all] ^= (uint8_t) (1 << (check >> 61));
        fuzz_check(!decode(kind, key, in, all, out, &n));
    }

    free(in);

    return 0;
}
