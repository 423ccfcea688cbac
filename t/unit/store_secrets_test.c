#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "keys_file.h"
#include "secrets.h"


static char              why[STORE_WHY_CHARS];
static store_secrets_t  *secrets;


static int
read_keys(void)
{
    return store_secrets_read(keys, &secrets, why);
}


/* The message names the file and holds the words given. */
static void
assert_why(const char *words)
{
    char  quoted[128];

    snprintf(quoted, sizeof(quoted), "\"%s\": ", keys);

    if (strncmp(why, quoted, strlen(quoted)) != 0
        || strstr(why, words) == NULL)
    {
        fail_msg("message without \"%s\": %s", words, why);
    }
}


static void
assert_refused(const char *text, int code, const char *words)
{
    keys_text(text);
    assert_int_equal(read_keys(), code);
    assert_why(words);
}


static void
test_read_one(void **state)
{
    (void) state;

    keys_text(SECRET_A "\n");

    assert_int_equal(read_keys(), STORE_OK);
    assert_int_equal(store_secrets_count(secrets), 1);
    assert_string_equal(why, "");

    store_secrets_free(secrets);
    store_secrets_free(NULL);
}


/* The text is needed no longer than it takes to decode it. */
static void
test_read_wipes_the_text(void **state)
{
    (void) state;

    keys_text(SECRET_A "\n");

    assert_int_equal(read_keys(), STORE_OK);
    assert_non_null(memmem(secrets, sizeof(*secrets), "\1\2\3\4\5\6\7", 7));
    assert_null(memmem(secrets, sizeof(*secrets), SECRET_A, 20));

    store_secrets_free(secrets);
}


static void
test_read_comments_and_no_last_line_feed(void **state)
{
    uint8_t  a, b;

    (void) state;

    keys_text("# first\n\n" SECRET_A "\n\n# second\n" SECRET_B);

    assert_int_equal(read_keys(), STORE_OK);
    assert_int_equal(store_secrets_count(secrets), 2);
    a = store_secrets_id(secrets, 0);
    b = store_secrets_id(secrets, 1);
    store_secrets_free(secrets);

    assert_int_not_equal(a, b);

    keys_text(SECRET_B "\n" SECRET_A "\n");

    assert_int_equal(read_keys(), STORE_OK);
    assert_int_equal(store_secrets_id(secrets, 0), b);
    assert_int_equal(store_secrets_id(secrets, 1), a);
    store_secrets_free(secrets);
}


static void
test_read_rights(void **state)
{
    size_t  i;

    static const struct {
        mode_t       mode;
        int          code;
        const char  *words;
    } modes[] = {
        { 0600, STORE_OK, "" },
        { 0400, STORE_OK, "" },
        { 0640, STORE_OK, "" },
        { 0440, STORE_OK, "" },
        { 0604, STORE_UNSAFE, "readable by others; run chmod 0600 " },
        { 0644, STORE_UNSAFE, "readable by others; run chmod 0600 " },
        { 0602, STORE_UNSAFE, "writable by others; run chmod 0600 " },
        { 0601, STORE_UNSAFE, "executable by others; run chmod 0600 " },
        { 0620, STORE_UNSAFE, "group may write; run chmod g-w " },
        { 0660, STORE_UNSAFE, "group may write; run chmod g-w " },
        { 0666, STORE_UNSAFE, "readable by others; run chmod 0600 " }
    };

    (void) state;

    for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        keys_write(SECRET_A "\n", strlen(SECRET_A "\n"), modes[i].mode);

        assert_int_equal(read_keys(), modes[i].code);

        if (modes[i].code == STORE_OK) {
            store_secrets_free(secrets);
            continue;
        }

        assert_why(modes[i].words);
        assert_why(keys);
    }
}


/* Only root can give a file away, so others skip this one. */
static void
test_read_owner(void **state)
{
    (void) state;

    if (geteuid() != 0) {
        skip();
    }

    keys_text(SECRET_A "\n");
    assert_int_equal(chown(keys, 65534, (gid_t) -1), 0);

    assert_int_equal(read_keys(), STORE_UNSAFE);
    assert_why("belongs to user 65534");
    assert_why("run chown root ");

    assert_int_equal(seteuid(65534), 0);
    assert_int_equal(chmod(folder, 0700), -1);
    assert_int_equal(seteuid(0), 0);

    /* the user nobody may read its own file */

    assert_int_equal(chmod(folder, 0711), 0);
    assert_int_equal(seteuid(65534), 0);
    assert_int_equal(read_keys(), STORE_OK);
    store_secrets_free(secrets);
    assert_int_equal(seteuid(0), 0);
}


static void
test_read_missing_and_not_a_file(void **state)
{
    (void) state;

    (void) unlink(keys);
    assert_int_equal(read_keys(), ENOENT);
    assert_why("no such file; run sessionctl key new ");

    assert_int_equal(store_secrets_read(folder, &secrets, why), STORE_UNSAFE);
    assert_non_null(strstr(why, "not a regular file"));

    assert_int_equal(mkfifo(keys, 0600), 0);
    assert_int_equal(read_keys(), STORE_UNSAFE);
    assert_why("not a regular file");
}


/* What a link points to is checked, and only reading follows one. */
static void
test_read_symlink(void **state)
{
    char     link[128];
    uint8_t  id;

    (void) state;

    snprintf(link, sizeof(link), "%s/link", folder);

    keys_text(SECRET_A "\n" SECRET_B "\n");
    assert_int_equal(symlink("session.keys", link), 0);

    assert_int_equal(store_secrets_read(link, &secrets, why), STORE_OK);
    id = store_secrets_id(secrets, 1);
    store_secrets_free(secrets);

    assert_int_equal(store_secrets_promote(link, id, why), ELOOP);
    assert_non_null(strstr(why, "is a symbolic link; name the file"));
    assert_int_equal(store_secrets_random_add(link, &id, why), ELOOP);
    assert_int_equal(store_secrets_random_create(link, why), STORE_EXISTS);

    assert_int_equal(chmod(keys, 0644), 0);
    assert_int_equal(store_secrets_read(link, &secrets, why), STORE_UNSAFE);

    assert_int_equal(unlink(link), 0);
}


static void
test_read_refuses_lines(void **state)
{
    (void) state;

    assert_refused("", STORE_MALFORMED, "holds no secret");
    assert_refused("# nothing\n\n", STORE_MALFORMED, "holds no secret");
    assert_refused(SECRET_A "\r\n", STORE_MALFORMED,
                   "line 1 ends in CR LF; run sed -i 's/\\r$//' ");
    assert_refused("# x\r\n" SECRET_A "\n", STORE_MALFORMED, "line 1 ends");
    assert_refused(SECRET_A "\n\nhello\n", STORE_MALFORMED, "line 3 is not");
    assert_refused(" " SECRET_A "\n", STORE_MALFORMED, "line 1 is not");
    assert_refused(SECRET_A " \n", STORE_MALFORMED, "line 1 is not");

    /* 31 bytes */
    assert_refused("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHg==\n",
                   STORE_MALFORMED, "line 1 has 31 bytes, a secret needs 32");
    assert_refused("AAAA\n", STORE_MALFORMED, "line 1 has 3 bytes");

    /* no padding, too much of it, stray bits, other alphabet */
    assert_refused("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8\n",
                   STORE_MALFORMED, "line 1 is not the base64");
    assert_refused("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8==\n",
                   STORE_MALFORMED, "line 1 is not the base64");
    assert_refused("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdH===\n",
                   STORE_MALFORMED, "line 1 is not the base64");
    assert_refused("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9=\n",
                   STORE_MALFORMED, "line 1 is not the base64");
    assert_refused("__ECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n",
                   STORE_MALFORMED, "line 1 is not the base64");
}


static void
test_read_refuses_nul(void **state)
{
    (void) state;

    keys_write(SECRET_A "\0\n", strlen(SECRET_A) + 2, 0600);
    assert_int_equal(read_keys(), STORE_MALFORMED);
    assert_why("line 1 is not the base64");
}


static void
test_read_bounds(void **state)
{
    char    text[8192];
    size_t  n;

    (void) state;

    /* 128 bytes of zeros are 172 characters, 129 bytes are too many */

    memset(text, 'A', 172);
    strcpy(text + 171, "=\n");
    keys_text(text);
    assert_int_equal(read_keys(), STORE_OK);
    store_secrets_free(secrets);

    memset(text, 'A', 172);
    strcpy(text + 172, "\n");
    keys_text(text);
    assert_int_equal(read_keys(), STORE_MALFORMED);
    assert_why("line 1 is not the base64 of at most 128 bytes");

    /* 4096 bytes are read, 4097 are not */

    n = strlen(SECRET_A "\n");
    memset(text, '#', sizeof(text));
    memcpy(text, SECRET_A "\n", n);

    keys_write(text, STORE_KEYS_FILE_MAX, 0600);
    assert_int_equal(read_keys(), STORE_OK);
    store_secrets_free(secrets);

    keys_write(text, STORE_KEYS_FILE_MAX + 1, 0600);
    assert_int_equal(read_keys(), STORE_LIMIT);
    assert_why("longer than 4096 bytes");
}


static void
test_read_refuses_repeated_ids(void **state)
{
    (void) state;

    assert_refused(SECRET_A "\n" SECRET_B "\n" SECRET_A "\n", STORE_MALFORMED,
                   "line 3 repeats line 1; remove it");
}


/* Of 257 different secrets two share an id; that pair is refused. */
static void
test_read_refuses_colliding_ids(void **state)
{
    char     line[64], other[64], text[256];
    uint8_t  data[32];

    unsigned            i;
    static char         seen[256][64];

    (void) state;

    memset(data, 0, sizeof(data));

    for (i = 0; i < 257; i++) {
        data[0] = (uint8_t) i;
        data[1] = (uint8_t) (i >> 8);

        memset(line, 0, sizeof(line));
        store_base64url_encode(data, sizeof(data), line);

        /* these bytes need no character that the alphabets differ in */
        if (strpbrk(line, "-_")) {
            continue;
        }

        strcat(line, "=\n");
        keys_text(line);
        assert_int_equal(read_keys(), STORE_OK);
        memcpy(other, seen[store_secrets_id(secrets, 0)], sizeof(other));
        strcpy(seen[store_secrets_id(secrets, 0)], line);
        store_secrets_free(secrets);

        if (other[0]) {
            snprintf(text, sizeof(text), "#\n%s%s", other, line);
            assert_refused(text, STORE_MALFORMED, "line 3 has the key id ");
            assert_why(" of line 2; remove it and run sessionctl key add ");
            return;
        }
    }

    fail_msg("no collision was met");
}


static void
test_read_refuses_nine(void **state)
{
    char     text[1024];
    uint8_t  id;

    (void) state;

    keys_text(SECRET_A "\n");

    while (store_secrets_random_add(keys, &id, why) == STORE_OK) {
        /* void */
    }

    keys_slurp(text, sizeof(text) - 64);
    strcat(text, SECRET_C "\n");

    assert_refused(text, STORE_LIMIT, "line 9: more than 8 secrets");
}


static void
test_why_is_bounded(void **state)
{
    char    file[1024];
    size_t  n;

    (void) state;

    n = sizeof(file) - 1;
    memset(file, 'x', n);
    file[0] = '/';
    file[n] = '\0';

    memset(why, 0x55, sizeof(why));
    assert_int_equal(store_secrets_read(file, &secrets, why), ENAMETOOLONG);
    assert_true(strlen(why) < STORE_WHY_CHARS);
}


#define secrets_test(f)                                                      \
    cmocka_unit_test_setup_teardown(f, folder_setup, folder_teardown)

int
main(void)
{
    const struct CMUnitTest  tests[] = {
        secrets_test(test_read_one),
        secrets_test(test_read_wipes_the_text),
        secrets_test(test_read_comments_and_no_last_line_feed),
        secrets_test(test_read_rights),
        secrets_test(test_read_owner),
        secrets_test(test_read_missing_and_not_a_file),
        secrets_test(test_read_symlink),
        secrets_test(test_read_refuses_lines),
        secrets_test(test_read_refuses_nul),
        secrets_test(test_read_bounds),
        secrets_test(test_read_refuses_repeated_ids),
        secrets_test(test_read_refuses_colliding_ids),
        secrets_test(test_read_refuses_nine),
        secrets_test(test_why_is_bounded)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
