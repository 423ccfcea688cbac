/* jsonline.c: a value that was read is read the same once written again. */

#include "fuzz.h"
#include "jsonline.h"


static store_json_t  first, second;


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char              *line;
    size_t             i, n;
    FILE              *out;
    store_json_out_t   json;

    if (store_json_parse(&first, (const char *) data, size) != STORE_OK) {
        return 0;
    }

    fuzz_check(first.used <= size && first.n <= STORE_JSON_MEMBERS_MAX);

    for (i = 0; i < first.n; i++) {

        if (first.members[i].type != STORE_JSON_STRING
            || first.members[i].len > 2000)
        {
            continue;
        }
        out = open_memstream(&line, &n);
        fuzz_check(out != NULL);
        store_json_begin(&json, out);
        store_json_put_string(&json, "x", first.members[i].data,
                              first.members[i].len);
        store_json_end(&json);
        fuzz_check(fclose(out) == 0 && memchr(line, '\n', n) == line + n - 1);
        fuzz_check(store_json_parse(&second, line, n - 1) == STORE_OK);
        fuzz_check(second.members[0].len == first.members[i].len);
        fuzz_check(memcmp(second.members[0].data, first.members[i].data,
                          second.members[0].len) == 0);
        free(line);
    }
    return 0;
}
