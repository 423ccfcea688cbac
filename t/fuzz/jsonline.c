/* jsonline.c: a line is taken exactly when jansson reads a flat object that
 * our stricter rules allow, as what jansson reads; and what is written back is
 * read as the same. */

#include <jansson.h>

#include "fuzz.h"
#include "jsonline.h"


static char          line[8 * STORE_JSON_LINE_MAX];
static FILE         *out;
static store_json_t  read, again;


/*
 * The rules beyond JSON's: no line feed, no -0, no U+0000, at most 32 members,
 * which are strings, whole numbers, true and false.  A zero byte is kept from
 * jansson, which reads past one behind a number.  1: taken; 0: refused; -1: a
 * number is there of which jansson cannot tell.
 */
static int
expect(const char *data, size_t size, json_t **object)
{
    json_t        *value;
    const char    *name;
    json_error_t   error;

    *object = NULL;

    if (memchr(data, '\0', size) != NULL || memchr(data, '\n', size) != NULL) {
        return 0;
    }

    *object = json_loadb(data, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL,
                         &error);

    if (*object == NULL) {
        return json_error_code(&error) == json_error_numeric_overflow ? -1 : 0;
    }

    if (!json_is_object(*object) || size > STORE_JSON_LINE_MAX
        || json_object_size(*object) > STORE_JSON_MEMBERS_MAX)
    {
        return 0;
    }

    json_object_foreach(*object, name, value) {

        if (json_is_string(value)) {
            if (strlen(json_string_value(value)) != json_string_length(value))
            {
                return 0;
            }

        } else if (!json_is_integer(value) && !json_is_boolean(value)) {
            return 0;
        }
    }

    return memmem(data, size, "-0", 2) != NULL ? -1 : 1;
}


/* Members as jansson has them; an integer that it cannot hold is not there. */
static void
compare(const store_json_t *json, const json_t *object)
{
    size_t                      i;
    uint64_t                    number;
    const json_t               *value;
    const store_json_member_t  *m;

    fuzz_check(json->n == json_object_size(object));

    for (i = 0; i < json->n; i++) {
        m = &json->members[i];
        value = json_object_getn(object, m->name, m->name_len);
        fuzz_check(value != NULL);

        switch (m->type) {

        case STORE_JSON_STRING:
            fuzz_check(json_is_string(value));
            fuzz_check(fuzz_same(m->data, m->len, json_string_value(value),
                                 json_string_length(value)));
            break;

        case STORE_JSON_BOOLEAN:
            fuzz_check(json_is_boolean(value));
            fuzz_check((uint64_t) json_is_true(value) == m->number);
            break;

        default:
            fuzz_check(json_is_integer(value));
            number = (uint64_t) json_integer_value(value);
            fuzz_check((m->negative ? 0 - m->number : m->number) == number);
        }
    }
}


static void
write_back(const store_json_t *json)
{
    char                        name[24];
    long                        n;
    size_t                      i;
    json_t                     *object;
    json_error_t                error;
    store_json_out_t            w;
    const store_json_member_t  *m;

    rewind(out);
    store_json_begin(&w, out);

    for (i = 0; i < json->n; i++) {
        m = &json->members[i];
        (void) snprintf(name, sizeof(name), "%zu", i);

        if (m->type == STORE_JSON_STRING) {
            store_json_put_string(&w, name, m->data, m->len);

        } else {
            store_json_put_number(&w, name, m->number);
        }
    }

    store_json_end(&w);
    n = ftell(out);
    fuzz_check(fflush(out) == 0 && n > 0);
    fuzz_check(memchr(line, '\n', (size_t) n) == line + n - 1);
    n--;
    fuzz_check(store_json_parse(&again, line, (size_t) n) == STORE_OK);
    fuzz_check(again.n == json->n);

    for (i = 0; i < json->n; i++) {
        m = &json->members[i];
        fuzz_check(again.members[i].number == m->number);
        fuzz_check(fuzz_same(again.members[i].data, again.members[i].len,
                             m->data, m->len));
    }

    object = json_loadb(line, (size_t) n, 0, &error);

    if (object != NULL) {
        compare(&again, object);
        json_decref(object);

    } else {
        fuzz_check(json_error_code(&error) == json_error_numeric_overflow);
    }
}


int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void) argc;
    (void) argv;

    out = fmemopen(line, sizeof(line), "w");
    fuzz_check(out != NULL);

    return 0;
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int      rc, expected;
    json_t  *object;

    rc = store_json_parse(&read, (const char *) data, size);
    expected = expect((const char *) data, size, &object);

    fuzz_check(expected == -1 || (rc == STORE_OK) == expected);
    fuzz_check(rc == STORE_OK || rc == STORE_MALFORMED || rc == STORE_LIMIT);

    if (rc == STORE_OK) {
        fuzz_check(read.used <= size);

        if (object != NULL) {
            compare(&read, object);
        }

        write_back(&read);
    }

    json_decref(object);

    return 0;
}
