/* record.c: what decodes encodes to the same bytes. */

#include "fuzz.h"
#include "record.h"


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t         n, all;
    uint8_t       *in, out[STORE_RECORD_MAX], key[STORE_KEY_BYTES];
    store_live_t   live;
    store_user_t   user;
    store_event_t  event;

    if ((all = size + STORE_CHECK_BYTES) > STORE_RECORD_MAX) {
        return 0;
    }
    memset(key, 7, sizeof(key));
    memcpy(in = fuzz_buffer(all), data, size);
    store_record_seal(key, STORE_KEY_BYTES, in, size);

    if (store_session_decode(key, in, all, &live.session, &live.indexed) == 0)
    {
        fuzz_check(store_session_encode(&live, out, &n) == 0);
        fuzz_check(n == all && memcmp(in, out, n) == 0);
    }
    store_record_seal(key, STORE_USER_BYTES, in, size);
    if (store_user_decode(key, in, all, &user) == 0) {
        fuzz_check(store_user_encode(&user, out, &n) == 0 && n == all);
        fuzz_check(memcmp(in, out, n) == 0);
    }
    if (store_event_decode(0x0707070707070707, in, all, &event) == 0) {
        fuzz_check(store_event_encode(&event, out, &n) == 0 && n == all);
        fuzz_check(memcmp(in, out, n) == 0);
    }
    free(in);
    return 0;
}
