#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "store.h"


#define literal(s)  (s), sizeof(s) - 1

typedef struct {
    const char  *data;
    size_t       len;
} bytes_t;


static const bytes_t  good_text[] = {
    { literal("") },
    { literal("a") },
    { literal("a b  c") },
    { literal("~!\"#$%&'()*+,-./") },
    { literal("\xc2\xa0") },                /* U+00A0 */
    { literal("J\xc3\xbcrgen") },
    { literal("\xdf\xbf") },
    { literal("\xe0\xa0\x80") },            /* U+0800 */
    { literal("\xed\x9f\xbf") },            /* U+D7FF */
    { literal("\xee\x80\x80") },            /* U+E000 */
    { literal("\xef\xbf\xbf") },
    { literal("\xf0\x90\x80\x80") },        /* U+10000 */
    { literal("\xf4\x8f\xbf\xbf") }         /* U+10FFFF */
};

static const bytes_t  bad_text[] = {
    { literal(" a") },
    { literal("a ") },
    { literal(" ") },
    { literal("\0") },
    { literal("a\0b") },
    { literal("a\nb") },
    { literal("a\r\nSet-Cookie: x") },
    { literal("\t") },
    { literal("\x1f") },
    { literal("\x7f") },
    { literal("\x80") },
    { literal("\xbf") },
    { literal("\xc2") },
    { literal("\xc2\x80") },                /* U+0080 */
    { literal("\xc2\x9b") },                /* U+009B, CSI */
    { literal("\xc2\x9f") },
    { literal("\xc2\x41") },
    { literal("\xc0\x80") },                /* NUL in two bytes */
    { literal("\xc0\xaf") },                /* '/' in two bytes */
    { literal("\xc1\xbf") },
    { literal("\xe0\x80\xaf") },
    { literal("\xe0\x9f\xbf") },
    { literal("\xe2\x82") },
    { literal("\xe2\x82\x41") },
    { literal("\xed\xa0\x80") },            /* surrogates */
    { literal("\xed\xbf\xbf") },
    { literal("\xf0\x80\x80\x80") },
    { literal("\xf0\x8f\xbf\xbf") },
    { literal("\xf0\x90\x80") },
    { literal("\xf4\x90\x80\x80") },        /* U+110000 */
    { literal("\xf5\x80\x80\x80") },
    { literal("\xff") },
    { literal("\xfe") }
};


static void
test_text_set_takes(void **state)
{
    size_t        i;
    store_name_t  name;

    (void) state;

    for (i = 0; i < sizeof(good_text) / sizeof(good_text[0]); i++) {
        memset(&name, 0x55, sizeof(name));

        assert_int_equal(store_text_set(&name, good_text[i].data,
                                        good_text[i].len), STORE_OK);
        assert_int_equal(name.len, good_text[i].len);
        assert_memory_equal(name.data, good_text[i].data, name.len);
        assert_int_equal(name.data[name.len], 0);
    }
}


static void
test_text_set_refuses_and_leaves_the_target(void **state)
{
    size_t        i;
    store_name_t  name, before;

    (void) state;

    memset(&name, 0x55, sizeof(name));
    before = name;

    for (i = 0; i < sizeof(bad_text) / sizeof(bad_text[0]); i++) {
        assert_int_equal(store_text_set(&name, bad_text[i].data,
                                        bad_text[i].len), STORE_INVALID);
        assert_memory_equal(&name, &before, sizeof(name));
    }
}


static void
test_text_set_length(void **state)
{
    char           text[STORE_NAME_MAX + 2];
    store_name_t   name;
    store_realm_t  realm;

    (void) state;

    memset(text, 'x', sizeof(text));

    assert_int_equal(store_text_set(&name, text, STORE_NAME_MAX), STORE_OK);
    assert_int_equal(name.len, STORE_NAME_MAX);
    assert_int_equal(store_text_set(&name, text, STORE_NAME_MAX + 1),
                     STORE_INVALID);
    assert_int_equal(store_text_set(&realm, text, STORE_REALM_MAX + 1),
                     STORE_INVALID);
    assert_int_equal(store_text_set(&name, NULL, 0), STORE_OK);
    assert_int_equal(name.len, 0);
}


/* A sequence of one byte is as the tables above say for every byte. */
static void
test_text_set_every_byte(void **state)
{
    char          c;
    unsigned      i;
    store_name_t  name;

    (void) state;

    for (i = 0; i < 256; i++) {
        c = (char) i;
        assert_int_equal(store_text_set(&name, &c, 1),
                         i > 0x20 && i < 0x7f ? STORE_OK : STORE_INVALID);
    }
}


static void
test_agent_set_replaces_and_is_text(void **state)
{
    size_t         i;
    store_name_t   name;
    store_agent_t  agent;

    (void) state;

    store_agent_set(&agent, literal("a\tb\xff" "c\xc3\xbc\xc2\x9b\x7f"));
    assert_string_equal(agent.data, "a?b?c\xc3\xbc???");

    store_agent_set(&agent, literal("  Mozilla/5.0  "));
    assert_string_equal(agent.data, "Mozilla/5.0");

    store_agent_set(&agent, NULL, 0);
    assert_string_equal(agent.data, "");

    for (i = 0; i < sizeof(bad_text) / sizeof(bad_text[0]); i++) {
        store_agent_set(&agent, bad_text[i].data, bad_text[i].len);
        assert_int_equal(store_text_set(&name, agent.data, agent.len),
                         STORE_OK);
        assert_int_equal(strlen(agent.data), agent.len);
    }
}


/* The cut splits no character and leaves no space at the end. */
static void
test_agent_set_cuts(void **state)
{
    char           text[STORE_AGENT_MAX + 8];
    store_agent_t  agent, copy;

    (void) state;

    memset(text, 'x', sizeof(text));

    store_agent_set(&agent, text, sizeof(text));
    assert_int_equal(agent.len, STORE_AGENT_MAX);

    memcpy(text + STORE_AGENT_MAX - 1, "\xc3\xbc", 2);
    store_agent_set(&agent, text, sizeof(text));
    assert_int_equal(agent.len, STORE_AGENT_MAX - 1);

    text[STORE_AGENT_MAX - 2] = ' ';
    store_agent_set(&agent, text, sizeof(text));
    assert_int_equal(agent.len, STORE_AGENT_MAX - 2);
    assert_int_equal(store_text_set(&copy, agent.data, agent.len), STORE_OK);
}


static void
test_roles_set_sorts(void **state)
{
    size_t                i;
    store_roles_t         roles;
    static const bytes_t  given[] = {
        { literal("a,b,c") },
        { literal("c b a") },
        { literal("b, c, a, b") },
        { literal(" ,c,,b a, ") }
    };

    (void) state;

    for (i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
        assert_int_equal(store_roles_set(&roles, given[i].data, given[i].len),
                         STORE_OK);
        assert_string_equal(roles.data, "a,b,c");
        assert_int_equal(roles.len, 5);
    }

    assert_int_equal(store_roles_set(&roles, literal("ab a abc aB")),
                     STORE_OK);
    assert_string_equal(roles.data, "a,aB,ab,abc");

    /* in place */
    assert_int_equal(store_roles_set(&roles, roles.data, roles.len), STORE_OK);
    assert_string_equal(roles.data, "a,aB,ab,abc");

    assert_int_equal(store_roles_set(&roles, NULL, 0), STORE_OK);
    assert_string_equal(roles.data, "");

    assert_int_equal(store_roles_set(&roles, literal("A-z_0.9:x")), STORE_OK);
}


static void
test_roles_set_refuses(void **state)
{
    char           many[1024];
    size_t         i, n;
    store_roles_t  roles;

    (void) state;

    assert_int_equal(store_roles_set(&roles, literal("a;b")), STORE_INVALID);
    assert_int_equal(store_roles_set(&roles, literal("a\tb")), STORE_INVALID);
    assert_int_equal(store_roles_set(&roles, literal("a\0b")), STORE_INVALID);
    assert_int_equal(store_roles_set(&roles, literal("r\xc3\xb4le")),
                     STORE_INVALID);

    memset(many, 'r', STORE_ROLE_MAX + 1);
    assert_int_equal(store_roles_set(&roles, many, STORE_ROLE_MAX), STORE_OK);
    assert_int_equal(store_roles_set(&roles, many, STORE_ROLE_MAX + 1),
                     STORE_INVALID);

    /* 200 different roles of two characters do not fit, 85 do */

    for (i = 0, n = 0; i < 200; i++) {
        many[n++] = (char) ('a' + i / 20);
        many[n++] = (char) ('a' + i % 20);
        many[n++] = ',';
    }

    assert_int_equal(store_roles_set(&roles, many, n), STORE_INVALID);
    assert_int_equal(store_roles_set(&roles, many, 85 * 3), STORE_OK);
    assert_int_equal(roles.len, 85 * 3 - 1);
    assert_int_equal(store_roles_set(&roles, many, 86 * 3), STORE_INVALID);

    /* the same one 500 times fits */

    for (i = 0; i < 1000; i += 2) {
        many[i] = 'a';
        many[i + 1] = ',';
    }

    assert_int_equal(store_roles_set(&roles, many, 1000), STORE_OK);
    assert_string_equal(roles.data, "a");
}


static void
test_roles_have(void **state)
{
    (void) state;

    assert_true(store_roles_have(literal("admin,auditor"), literal("admin")));
    assert_true(store_roles_have(literal("admin,auditor"),
                                 literal("auditor")));
    assert_true(store_roles_have(literal("admin"), literal("admin")));
    assert_false(store_roles_have(literal("admin,auditor"), literal("audit")));
    assert_false(store_roles_have(literal("admin,auditor"), literal("dmin")));
    assert_false(store_roles_have(literal("admin,auditor"), literal("Admin")));
    assert_false(store_roles_have(literal("admin,auditor"),
                                  literal("admin,auditor")));
    assert_false(store_roles_have(literal("admin"), literal("")));
    assert_false(store_roles_have(literal(""), literal("")));
    assert_false(store_roles_have(literal(""), literal("admin")));
}


static void
test_realm_set(void **state)
{
    store_realm_t  realm;

    (void) state;

    assert_int_equal(store_realm_set(&realm, literal("default")), STORE_OK);
    assert_string_equal(realm.data, "default");
    assert_int_equal(realm.len, 7);
    assert_int_equal(store_realm_set(&realm, literal("a-b_c.9")), STORE_OK);

    assert_int_equal(store_realm_set(&realm, literal("")), STORE_INVALID);
    assert_int_equal(store_realm_set(&realm, literal("Default")),
                     STORE_INVALID);
    assert_int_equal(store_realm_set(&realm, literal("a b")), STORE_INVALID);
    assert_int_equal(store_realm_set(&realm, literal("a/b")), STORE_INVALID);
    assert_int_equal(store_realm_set(&realm, literal("a\0")), STORE_INVALID);
    assert_int_equal(store_realm_set(&realm,
                                     literal("0123456789012345678901234567890"
                                             "1")), STORE_OK);
    assert_int_equal(store_realm_set(&realm,
                                     literal("0123456789012345678901234567890"
                                             "12")), STORE_INVALID);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_text_set_takes),
        cmocka_unit_test(test_text_set_refuses_and_leaves_the_target),
        cmocka_unit_test(test_text_set_length),
        cmocka_unit_test(test_text_set_every_byte),
        cmocka_unit_test(test_agent_set_replaces_and_is_text),
        cmocka_unit_test(test_agent_set_cuts),
        cmocka_unit_test(test_roles_set_sorts),
        cmocka_unit_test(test_roles_set_refuses),
        cmocka_unit_test(test_roles_have),
        cmocka_unit_test(test_realm_set)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
