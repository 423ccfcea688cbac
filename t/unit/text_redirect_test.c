/*
 * Return-to paths and origins.  What is accepted is resolved by a second
 * reader written after the URL standard of browsers, and must stay here.
 */

#include "text_bytes.h"
#include "text/redirect.h"


#define PATH_MAX_BYTES  4096


typedef struct {
    int     foreign;            /* another scheme or host */
    char    path[PATH_MAX_BYTES];
} resolved_t;


static int
starts(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}


/* Percent-encoded dots count as dots, in any case. */
static int
dots_of(const char *s, size_t len)
{
    int     dots;
    size_t  i;

    for (i = 0, dots = 0; i < len; dots++) {

        if (s[i] == '.') {
            i++;

        } else if (len - i >= 3 && s[i] == '%' && s[i + 1] == '2'
                   && (s[i + 2] | 0x20) == 'e')
        {
            i += 3;

        } else {
            return 0;
        }
    }

    return dots > 2 ? 0 : dots;
}


/* The path as a browser would send it: backslashes are slashes, "." goes,
 * ".." takes the segment before it along. */
static void
resolve_path(const char *s, char *out)
{
    char    c;
    int     dots;
    size_t  n, len;

    n = 0;

    while (*s == '/' || *s == '\\') {
        s++;
        len = strcspn(s, "/\\?#");
        c = s[len];
        dots = dots_of(s, len);

        if (dots == 2) {
            while (n > 0 && out[--n] != '/') { }
        }

        if (dots == 0) {
            out[n++] = '/';
            memcpy(out + n, s, len);
            n += len;

        } else if (c != '/' && c != '\\') {
            out[n++] = '/';
        }

        s += len;
    }

    out[n] = '\0';
}


/* What `in` means on a page of https://here.example/. */
static void
resolve(text_span_t in, resolved_t *out)
{
    char    s[PATH_MAX_BYTES];
    size_t  i, n, from, to;

    memset(out, 0, sizeof(*out));
    assert_true(in.len < sizeof(s));

    /* control characters and spaces around it go, and tabs and newlines */

    for (from = 0; from < in.len && in.data[from] <= ' '; from++) { }
    for (to = in.len; to > from && in.data[to - 1] <= ' '; to--) { }

    for (i = from, n = 0; i < to; i++) {
        if (strchr("\t\r\n", in.data[i]) == NULL || in.data[i] == 0) {
            s[n++] = in.data[i] == 0 ? '\1' : (char) in.data[i];
        }
    }

    s[n] = '\0';

    n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                  "0123456789+-.");

    if (n > 0 && s[n] == ':' && strchr("0123456789+-.", s[0]) == NULL) {
        out->foreign = 1;
        return;
    }

    if (strspn(s, "/\\") >= 2) {
        out->foreign = 1;
        return;
    }

    resolve_path(s, out->path);
}


static int
path_ok(const char *str)
{
    int      ok;
    bytes_t  target;

    target = bytes_str(str);
    ok = text_return_path(bytes_span(&target));
    bytes_free(&target);

    return ok;
}


static void
test_path(void **state)
{
    size_t  i;

    static const char *const  good[] = {
        "/", "/settings", "/settings?a=b#c", "/settings/", "/a//b", "/a///",
        "/?", "/#", "/?a=//evil.example", "/?next=/../x", "/#/../x",
        "/a?b=../../c", "/a/...", "/.../a", "/.well-known/x", "/..a", "/a..",
        "/a/.b", "/a/b.", "/%61", "/caf%C3%A9", "/a%20b", "/a:b@c", "/~user",
        "/a;x=1", "/x/%2fb", "/x/%5cb", "/%2e%2e%2e", "/a/%2e%2eb",
        "/%252e%252e/", "/a?%2f%5c", "/a#%2f", "/?a=100%", "/?a=%zz", "/a\"<>",
        "/a?b=%20%c3", "/search?q=a+b&l=de",
    };

    static const char *const  bad[] = {
        "", "a", "settings", "?a", "#a", "//", "//evil", "///evil", "/\\",
        "/\\evil", "\\/\\/evil", "\\\\evil", "\\evil", "/%09/evil", "/ /evil",
        "/\t/evil", "/\n/evil", "/\r/evil", "https:evil", "http:/evil",
        "https://evil", "HTTPS://evil", "/%5cevil", "/%5Cevil", "/%2fevil",
        "/%2Fevil", "/%2f%2fevil", "javascript:alert(1)", "data:text/html,x",
        "@evil", " /a", "/a ", "/a b", "/x%0d%0aSet-Cookie:a", "/x\r\nA: b",
        "/a%00", "/a?b=%00", "/a#%0a", "/a?%7f", "/a/%7F", "/a%1f",
        "/a\x7f", "/a\x01", "/caf\xc3\xa9", "/\xe2\x80\xa8", "/a\\b",
        "/a?b\\c", "/a#b\\c", "/.", "/..", "/./", "/../", "/./a", "/../a",
        "/a/.", "/a/..", "/a/./b", "/a/../b", "/a/..?b", "/a/.#b", "/..?",
        "/.//evil", "/..//evil", "/a/..//evil", "/%2e", "/%2E", "/%2e/",
        "/.%2e/", "/%2e./", "/%2e%2E/a", "/a/%2e", "/a/%2e%2e/b",
        "/a/..%2fb", "/a/%2e%2e%2fb", "/a/b%2f..", "/a/b%5c..%5cc",
        "/a%2fb", "/a%5cb", "/a%2f", "/%", "/%4", "/%zz", "/a/%", "/a/%4",
        "/a/%4g?b",
    };

    (void) state;

    for (i = 0; i < bytes_count(good); i++) {
        if (!path_ok(good[i])) {
            fail_msg("refused: %s", good[i]);
        }
    }

    for (i = 0; i < bytes_count(bad); i++) {
        if (path_ok(bad[i])) {
            fail_msg("accepted: %s", bad[i]);
        }
    }
}


static void
test_path_lengths(void **state)
{
    bytes_t      target;
    text_span_t  none;

    (void) state;

    target = bytes_new(NULL, TEXT_RETURN_MAX + 1);
    memset(target.data, 'a', target.len);
    target.data[0] = '/';

    assert_int_equal(text_return_path(bytes_span(&target)), 0);
    bytes_free(&target);

    target = bytes_new(NULL, TEXT_RETURN_MAX);
    memset(target.data, 'a', target.len);
    target.data[0] = '/';

    assert_int_equal(text_return_path(bytes_span(&target)), 1);
    target.len = 0;
    assert_int_equal(text_return_path(bytes_span(&target)), 0);
    bytes_free(&target);

    none.data = NULL;
    none.len = 0;
    assert_int_equal(text_return_path(none), 0);

    assert_int_equal(text_return_path(text_span("/a\0b")), 0);
    assert_int_equal(text_return_path(text_span("/a\0")), 0);
}


/* A prefix of a good path is good unless it ends in a broken escape. */
static void
test_path_truncated(void **state)
{
    int          ok;
    size_t       len;
    bytes_t      target;
    const char  *whole;

    (void) state;

    whole = "/settings/%41b/c%20d/e?a=%20b#c%41";

    for (len = 1; len <= strlen(whole); len++) {
        target = bytes_new(whole, len);
        ok = len > (size_t) (strchr(whole, '?') - whole)
             || !(whole[len - 1] == '%'
                  || (len > 1 && whole[len - 2] == '%'));
        assert_int_equal(text_return_path(bytes_span(&target)), ok);
        bytes_free(&target);
    }
}


/* The second reader must itself know what leads away. */
static void
test_resolver(void **state)
{
    size_t      i;
    resolved_t  r;

    static const struct {
        const char  *in;
        const char  *path;
    } cases[] = {
        { "//evil", NULL }, { "/\\evil", NULL }, { "\\\\evil", NULL },
        { "/\t/evil", NULL }, { " //evil", NULL }, { "https:evil", NULL },
        { "javascript:x", NULL }, { "/a/../b", "/b" }, { "/a/./b", "/a/b" },
        { "/a/%2e%2E/b", "/b" }, { "/a/..", "/" }, { "/..//evil", "//evil" },
        { "/a?b/../c", "/a" }, { "/a\\b", "/a/b" }, { "/", "/" },
    };

    (void) state;

    for (i = 0; i < bytes_count(cases); i++) {
        resolve(bytes_literal(cases[i].in), &r);
        assert_int_equal(r.foreign, cases[i].path == NULL);
        assert_string_equal(r.path, cases[i].path == NULL ? ""
                                                          : cases[i].path);
    }
}


static void
assert_stays(text_span_t target)
{
    size_t      len;
    resolved_t  r;

    resolve(target, &r);

    for (len = 0; len < target.len && strchr("?#", target.data[len]) == NULL;
         len++) { }

    if (r.foreign || strlen(r.path) != len
        || memcmp(r.path, target.data, len) != 0 || starts(r.path, "//"))
    {
        fail_msg("accepted: %.*s", (int) target.len,
                 (const char *) target.data);
    }
}


static void
test_path_stays_here(void **state)
{
    int          round;
    size_t       i, accepted;
    bytes_t      target;
    uint64_t     seed;

    static const char *const  alphabets[] = {
        "/\\.%2e5cCfFE", "/\\.%2f09a0dD:?#\t \r\n@h", "/.a%2e?", "/%5c2f0",
    };

    (void) state;

    seed = 63;
    accepted = 0;

    for (round = 0; round < 400000; round++) {
        i = (size_t) round % (bytes_count(alphabets) + 1);
        target = bytes_draw(&seed, i == bytes_count(alphabets)
                                   ? NULL : alphabets[i], 12);

        if (target.len != 0 && bytes_random(&seed) % 8 != 0) {
            target.data[0] = '/';
        }

        if (text_return_path(bytes_span(&target))) {
            accepted++;
            assert_stays(bytes_span(&target));
        }

        bytes_free(&target);
    }

    assert_true(accepted > 1000);
}


static void
test_origin_normal(void **state)
{
    size_t       i, len;
    bytes_t      in, out;
    text_span_t  got;

    static const struct {
        const char  *in;
        const char  *out;
    } cases[] = {
        { "https://app.example.com", "https://app.example.com" },
        { "HTTPS://App.Example.COM", "https://app.example.com" },
        { "http://a", "http://a" },
        { "http://a:80", "http://a" },
        { "https://a:443", "https://a" },
        { "https://a:80", "https://a:80" },
        { "http://a:443", "http://a:443" },
        { "http://a:8080", "http://a:8080" },
        { "http://a:9090", "http://a:9090" },
        { "http://AZ.az-09_", "http://az.az-09_" },
        { "http://a:08080", "http://a:8080" },
        { "http://a:00080", "http://a" },
        { "http://a:1", "http://a:1" },
        { "http://a:10", "http://a:10" },
        { "http://a:65535", "http://a:65535" },
        { "http://127.0.0.1:3000", "http://127.0.0.1:3000" },
        { "http://a_b-c.d.", "http://a_b-c.d." },
        { "http://xn--caf-dma.example", "http://xn--caf-dma.example" },
        { "http://[::1]", "http://[::1]" },
        { "http://[::1]:80", "http://[::1]" },
        { "http://[2001:DB8::A]:81", "http://[2001:db8::a]:81" },
        { "http://[::]", "http://[::]" },
        { "http://[1:2:3:4:5:6:7:8]", "http://[1:2:3:4:5:6:7:8]" },
        { "http://[1::8]", "http://[1::8]" },
        { "http://[1:2:3:4:5:6:7::]", "http://[1:2:3:4:5:6:7::]" },
        { "http://[::2:3:4:5:6:7:8]", "http://[::2:3:4:5:6:7:8]" },

        { "", "" },
        { "null", "" },
        { "http:", "" },
        { "http://", "" },
        { "http:///a", "" },
        { "http//a", "" },
        { "http:/a", "" },
        { "https:a", "" },
        { "://a", "" },
        { "//a", "" },
        { "a", "" },
        { "ftp://a", "" },
        { "ws://a", "" },
        { "httpx://a", "" },
        { "file:///a", "" },
        { " http://a", "" },
        { "http://a ", "" },
        { "http://a/", "" },
        { "http://a/b", "" },
        { "http://a?b", "" },
        { "http://a#b", "" },
        { "http://u@a", "" },
        { "http://u:p@a", "" },
        { "http://a:", "" },
        { "http://a:0", "" },
        { "http://a:00000", "" },
        { "http://a:65536", "" },
        { "http://a:99999", "" },
        { "http://a:100000", "" },
        { "http://a:000080", "" },
        { "http://a:8o", "" },
        { "http://a:-1", "" },
        { "http://a:+1", "" },
        { "http://a:80:80", "" },
        { "http://a b", "" },
        { "http://a\\b", "" },
        { "http://a%2eb", "" },
        { "http://a\tb", "" },
        { "http://caf\xc3\xa9", "" },
        { "http://a,http://b", "" },
        { "http://a http://b", "" },
        { "http://.", "" },
        { "http://.a", "" },
        { "http://a..b", "" },
        { "http://a..", "" },
        { "http://:80", "" },
        { "http://[", "" },
        { "http://[]", "" },
        { "http://[::1", "" },
        { "http://::1", "" },
        { "http://[::1]a", "" },
        { "http://[::1]:", "" },
        { "http://[:1]", "" },
        { "http://[1:]", "" },
        { "http://[:]", "" },
        { "http://[:::]", "" },
        { "http://[1:::2]", "" },
        { "http://[1::2::3]", "" },
        { "http://[1:2:3:4:5:6:7]", "" },
        { "http://[1:2:3:4:5:6:7:8:9]", "" },
        { "http://[1:2:3:4:5:6:7:8::]", "" },
        { "http://[::1:2:3:4:5:6:7:8]", "" },
        { "http://[1:2:3:4::5:6:7:8]", "" },
        { "http://[12345::]", "" },
        { "http://[::g]", "" },
        { "http://[::1%25eth0]", "" },
        { "http://[::127.0.0.1]", "" },
        { "http://[v1.x]", "" },
    };

    (void) state;

    for (i = 0; i < bytes_count(cases); i++) {
        in = bytes_str(cases[i].in);
        len = text_origin_normal(bytes_span(&in), NULL, 0);
        assert_true(len <= in.len);

        out = bytes_new(NULL, len);
        assert_int_equal(text_origin_normal(bytes_span(&in), out.data,
                                            out.len), len);
        got = bytes_span(&out);
        bytes_assert(got, cases[i].out, cases[i].in);

        /* normal forms are their own */

        if (len != 0) {
            assert_int_equal(text_origin_normal(got, NULL, 0), len);
        }

        bytes_free(&out);
        bytes_free(&in);
    }
}


static void
test_origin_lengths(void **state)
{
    size_t   len;
    bytes_t  in;

    (void) state;

    for (len = 240; len < 270; len++) {
        in = bytes_new(NULL, 7 + len);
        memset(in.data, 'a', in.len);
        memcpy(in.data, "http://", 7);
        assert_int_equal(text_origin_normal(bytes_span(&in), NULL, 0) != 0,
                         len <= 255);
        bytes_free(&in);
    }

    in = bytes_new(NULL, 1 << 20);
    memset(in.data, ':', in.len);
    memcpy(in.data, "http://[::", 10);
    in.data[in.len - 1] = ']';
    assert_int_equal(text_origin_normal(bytes_span(&in), NULL, 0), 0);
    bytes_free(&in);
}


static void
test_origin_truncated(void **state)
{
    size_t       i, len;
    bytes_t      in;
    const char  *whole;

    static const char *const  origins[] = {
        "https://app.example.com:8443", "http://[2001:db8::1]:8080",
    };

    (void) state;

    for (i = 0; i < bytes_count(origins); i++) {
        whole = origins[i];

        for (len = 0; len <= strlen(whole); len++) {
            in = bytes_new(whole, len);
            (void) text_origin_normal(bytes_span(&in), NULL, 0);
            bytes_free(&in);
        }
    }
}


static void
test_return_origin(void **state)
{
    size_t       i, len;
    bytes_t      target, longest;
    text_span_t  origins[3];

    static const struct {
        const char  *target;
        int          ok;
    } cases[] = {
        { "https://app.example.com", 1 },
        { "https://app.example.com/", 1 },
        { "https://app.example.com/a?b=c#d", 1 },
        { "https://app.example.com:443/a", 1 },
        { "HTTPS://APP.example.com/a", 1 },
        { "http://localhost:3000/a", 1 },
        { "http://[::1]/a", 1 },
        { "http://[::1]:80", 1 },

        { "", 0 },
        { "/", 0 },
        { "/a", 0 },
        { "//app.example.com/", 0 },
        { "https:app.example.com", 0 },
        { "https:/app.example.com", 0 },
        { "https:///app.example.com", 0 },
        { "https:\\\\app.example.com", 0 },
        { "http://app.example.com/", 0 },
        { "https://app.example.com:8443/", 0 },
        { "https://app.example.com./", 0 },
        { "https://app.example.com.evil.example/", 0 },
        { "https://evil.example/app.example.com", 0 },
        { "https://evilapp.example.com/", 0 },
        { "https://x.app.example.com/", 0 },
        { "https://app.example.com@evil.example/", 0 },
        { "https://evil.example@app.example.com/", 0 },
        { "https://app.example.com:443@evil.example/", 0 },
        { "https://evil.example\\@app.example.com/", 0 },
        { "https://evil.example#@app.example.com/", 0 },
        { "https://evil.example?@app.example.com/", 0 },
        { "https://app.example.com?a", 0 },
        { "https://app.example.com#a", 0 },
        { "https://app.example.com\\a", 0 },
        { "https://app.example.com//evil", 0 },
        { "https://app.example.com/../a", 0 },
        { "https://app.example.com/%0d%0a", 0 },
        { "https://app.example.com/a b", 0 },
        { "https://app.example.com\t/", 0 },
        { " https://app.example.com/", 0 },
        { "https://app.example.com%2f/", 0 },
        { "http://localhost/", 0 },
        { "http://localhost:3001/", 0 },
        { "javascript://app.example.com/%0aalert(1)", 0 },
        { "null", 0 },
    };

    (void) state;

    origins[0] = text_span("https://app.example.com");
    origins[1] = text_span("http://localhost:3000");
    origins[2] = text_span("http://[::1]");

    for (i = 0; i < bytes_count(cases); i++) {
        target = bytes_str(cases[i].target);

        if (text_return_origin(bytes_span(&target), origins, 3)
            != cases[i].ok)
        {
            fail_msg("%s", cases[i].target);
        }

        assert_int_equal(text_return_origin(bytes_span(&target), NULL, 0), 0);
        bytes_free(&target);
    }

    for (len = 0; len < strlen(cases[2].target); len++) {
        target = bytes_new(cases[2].target, len);
        assert_int_equal(text_return_origin(bytes_span(&target), origins, 3),
                         len >= strlen(cases[0].target));
        bytes_free(&target);
    }

    longest = bytes_new(NULL, 1 << 20);
    memset(longest.data, 'a', longest.len);
    memcpy(longest.data, "https://", 8);
    assert_int_equal(text_return_origin(bytes_span(&longest), origins, 3), 0);
    bytes_free(&longest);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_path),
        cmocka_unit_test(test_path_lengths),
        cmocka_unit_test(test_path_truncated),
        cmocka_unit_test(test_resolver),
        cmocka_unit_test(test_path_stays_here),
        cmocka_unit_test(test_origin_normal),
        cmocka_unit_test(test_origin_lengths),
        cmocka_unit_test(test_origin_truncated),
        cmocka_unit_test(test_return_origin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
