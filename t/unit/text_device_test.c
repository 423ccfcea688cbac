/*
 * Devices: a name people know, and never a byte of the header.
 */

#include "text_bytes.h"
#include "text/device.h"


#define WEBKIT  " AppleWebKit/537.36 (KHTML, like Gecko) "


static void
test_device(void **state)
{
    size_t       i;
    bytes_t      in, out;
    text_span_t  got;

    static const struct {
        const char  *agent;
        const char  *device;
    } cases[] = {
        { "", "Unknown device" },
        { "x", "Unknown device" },
        { "Mozilla/5.0", "Unknown device" },
        { "<script>alert(1)</script>", "Unknown device" },

        { "Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 "
          "Firefox/132.0", "Firefox on Linux" },
        { "Mozilla/5.0 (Android 14; Mobile; rv:132.0) Gecko/132.0 "
          "Firefox/132.0", "Firefox on Android" },
        { "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) "
          "AppleWebKit/605.1.15 (KHTML, like Gecko) FxiOS/132.0 "
          "Mobile/15E148 Safari/605.1.15", "Firefox on iPhone" },
        { "Mozilla/5.0 (Windows NT 10.0; Win64; x64)" WEBKIT
          "Chrome/130.0.0.0 Safari/537.36", "Chrome on Windows" },
        { "Mozilla/5.0 (Windows NT 10.0; Win64; x64)" WEBKIT
          "Chrome/130.0.0.0 Safari/537.36 Edg/130.0.0.0", "Edge on Windows" },
        { "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)" WEBKIT
          "Chrome/130.0.0.0 Safari/537.36 OPR/116.0.0.0", "Opera on macOS" },
        { "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) "
          "AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 "
          "Safari/605.1.15", "Safari on macOS" },
        { "Mozilla/5.0 (iPad; CPU OS 17_5 like Mac OS X) "
          "AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 "
          "Mobile/15E148 Safari/604.1", "Safari on iPad" },
        { "Mozilla/5.0 (Linux; Android 14; SM-S921B)" WEBKIT
          "SamsungBrowser/26.0 Chrome/122.0.0.0 Mobile Safari/537.36",
          "Samsung Internet on Android" },
        { "Mozilla/5.0 (X11; CrOS x86_64 14541.0.0)" WEBKIT
          "Chrome/130.0.0.0 Safari/537.36", "Chrome on ChromeOS" },
        { "Mozilla/5.0 (X11; Linux x86_64)" WEBKIT
          "HeadlessChrome/130.0.0.0 Safari/537.36",
          "Headless Chrome on Linux" },
        { "Mozilla/5.0 (Windows NT 6.1; Trident/7.0; rv:11.0) like Gecko",
          "Internet Explorer on Windows" },
        { "Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1)",
          "Internet Explorer on Windows" },
        { "Firefox/1", "Firefox" },

        { "x EdgA/1 Chrome/1 (Android)", "Edge on Android" },
        { "x EdgiOS/1 Safari/1 (iPod)", "Edge on iPod" },
        { "x Chrome/1 Edge/18 (Windows)", "Edge on Windows" },
        { "x OPT/1 Safari/1 (iPhone)", "Opera on iPhone" },
        { "Opera/9.80 (FreeBSD)", "Opera on FreeBSD" },
        { "x Chrome/1 Vivaldi/6 (OpenBSD)", "Vivaldi on OpenBSD" },
        { "x Chrome/1 YaBrowser/2 (NetBSD)", "Yandex Browser on NetBSD" },
        { "x Safari/1 DuckDuckGo/7 (Mac OS X)", "DuckDuckGo on macOS" },
        { "x Safari/1 Ddg/17 (Macintosh)", "DuckDuckGo on macOS" },
        { "x Chrome/1 Electron/33", "Electron" },
        { "x CriOS/130 Safari/1 (iPad)", "Chrome on iPad" },
        { "x Chromium/130 Chrome/130", "Chromium" },
        { "xFirefox/1yLinuxz", "Firefox on Linux" },

        { "curl/7.88.1", "curl" },
        { "Wget/1.21.3", "Wget" },
        { "python-requests/2.31.0", "Python" },
        { "Go-http-client/2.0", "Go" },
        { "node", "Node.js" },
        { "Mozilla/5.0 curl/8", "Unknown device" },
    };

    (void) state;

    out = bytes_new(NULL, TEXT_DEVICE_CHARS);

    for (i = 0; i < bytes_count(cases); i++) {
        in = bytes_str(cases[i].agent);
        got.data = out.data;
        got.len = text_device(bytes_span(&in), out.data);
        bytes_assert(got, cases[i].device, cases[i].agent);
        bytes_free(&in);
    }

    got.data = NULL;
    got.len = 0;
    assert_int_equal(text_device(got, out.data), strlen("Unknown device"));
    bytes_free(&out);
}


static void
test_device_truncated(void **state)
{
    size_t       len, n;
    bytes_t      in, out;
    const char  *whole;

    (void) state;

    whole = "Mozilla/5.0 (Linux; Android 14)" WEBKIT "SamsungBrowser/26.0";

    for (len = 0; len <= strlen(whole); len++) {
        in = bytes_new(whole, len);
        out = bytes_new(NULL, TEXT_DEVICE_CHARS);
        n = text_device(bytes_span(&in), out.data);
        assert_true(n > 0 && n <= TEXT_DEVICE_CHARS);
        bytes_free(&out);
        bytes_free(&in);
    }
}


/* Whatever the header says, only our own words come out. */
static void
test_device_gives_nothing_away(void **state)
{
    int       round;
    size_t    i, n;
    bytes_t   in, out;
    uint64_t  seed;

    static const char *const  parts[] = {
        "Edg/", "Firefox/", "Safari/", "Android", "Linux", "<b>", "\n", "on ",
        "Opera", "MSIE ", "\xff", "%n", "0123456789",
    };

    (void) state;

    seed = 9;
    out = bytes_new(NULL, TEXT_DEVICE_CHARS);

    for (round = 0; round < 20000; round++) {
        in = bytes_new(NULL, 120);

        for (n = 0; n < 100; n += strlen(parts[i])) {
            i = bytes_random(&seed) % bytes_count(parts);
            memcpy(in.data + n, parts[i], strlen(parts[i]));
        }

        in.len = n;
        n = text_device(bytes_span(&in), out.data);
        assert_true(n > 0 && n <= TEXT_DEVICE_CHARS);

        for (i = 0; i < n; i++) {
            assert_non_null(strchr("abcdefghijklmnopqrstuvwxyz"
                                   "ABCDEFGHIJKLMNOPQRSTUVWXYZ .",
                                   out.data[i]));
            assert_true(out.data[i] != 0);
        }

        bytes_free(&in);
    }

    bytes_free(&out);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_device),
        cmocka_unit_test(test_device_truncated),
        cmocka_unit_test(test_device_gives_nothing_away),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
