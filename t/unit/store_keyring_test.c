#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>

#include <cmocka.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base64.h"
#include "hkdf.h"
#include "keys_file.h"
#include "pages.h"
#include "sha256.h"


static size_t
unhex(const char *hex, uint8_t *data)
{
    size_t    n;
    unsigned  c;

    for (n = 0; sscanf(hex, "%2x", &c) == 1; hex += 2) {
        data[n++] = (uint8_t) c;
    }

    return n;
}


static void
hmac(const void *key, size_t n, const void *data, size_t len, uint8_t *mac)
{
    assert_non_null(HMAC(EVP_sha256(), key, (int) n, data, len, mac, NULL));
}


/* HKDF-SHA-256 as RFC 5869 writes it, made of one-shot HMACs. */
static void
hkdf(const uint8_t *salt, size_t salt_len, const uint8_t *secret, size_t n,
    const void *info, size_t info_len, uint8_t *out, size_t len)
{
    size_t   done, step;
    uint8_t  prk[32], t[32], in[32 + 512 + 1], i;

    hmac(salt, salt_len, secret, n, prk);

    for (done = 0, step = 0, i = 1; done < len; i++) {
        memcpy(in, t, step);
        memcpy(in + step, info, info_len);
        in[step + info_len] = i;
        hmac(prk, sizeof(prk), in, step + info_len + 1, t);

        step = sizeof(t);
        memcpy(out + done, t, len - done < step ? len - done : step);
        done += len - done < step ? len - done : step;
    }
}


/* RFC 5869, appendix A.1 to A.3 */
static const struct {
    const char  *ikm, *salt, *info, *okm;
} hkdf_vectors[] = {
    { "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b",
      "000102030405060708090a0b0c", "f0f1f2f3f4f5f6f7f8f9",
      "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"
      "34007208d5b887185865" },
    { "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
      "202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f"
      "404142434445464748494a4b4c4d4e4f",
      "606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f"
      "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f"
      "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf",
      "b0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecf"
      "d0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeef"
      "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
      "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c"
      "59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71"
      "cc30c58179ec3e87c14c01d5c1f3434f1d87" },
    { "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "", "",
      "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d"
      "9d201395faa4b61a96c8" }
};


/*
 * Our function has no salt, so it gets the third vector itself, and the other
 * two prove the function above, which then is the measure for ours.
 */
static void
test_hkdf_rfc5869(void **state)
{
    size_t   i, n, salt_len, info_len, len;
    uint8_t  ikm[128], salt[128], info[128], okm[128], out[128], own[128];

    (void) state;

    for (i = 0; i < 3; i++) {
        n = unhex(hkdf_vectors[i].ikm, ikm);
        salt_len = unhex(hkdf_vectors[i].salt, salt);
        info_len = unhex(hkdf_vectors[i].info, info);
        len = unhex(hkdf_vectors[i].okm, okm);

        hkdf(salt, salt_len, ikm, n, info, info_len, out, len);
        assert_memory_equal(out, okm, len);

        hkdf(salt, 0, ikm, n, info, info_len, out, len);
        assert_int_equal(store_hkdf(ikm, n, info, info_len, own, len),
                         STORE_OK);
        assert_memory_equal(own, out, len);

        if (salt_len == 0) {
            assert_memory_equal(own, okm, len);
        }
    }
}


/* RFC 4231; test case 5 is a truncated one */
static const struct {
    const char  *key, *data, *mac;
} hmac_vectors[] = {
    { "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "4869205468657265",
      "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7" },
    { "4a656665", "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843" },
    { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
      "dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"
      "dddddddddddddddddddddddddddddddddddd",
      "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe" },
    { "0102030405060708090a0b0c0d0e0f10111213141516171819",
      "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd"
      "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd",
      "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b" },
    { "0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c",
      "546573742057697468205472756e636174696f6e",
      "a3b6167473100ee06e0c796c2955552b" },
    { NULL, "54657374205573696e67204c6172676572205468616e20426c6f636b2d53697a"
      "65204b6579202d2048617368204b6579204669727374",
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54" },
    { NULL, "5468697320697320612074657374207573696e672061206c6172676572207468"
      "616e20626c6f636b2d73697a65206b657920616e642061206c61726765722074"
      "68616e20626c6f636b2d73697a6520646174612e20546865206b6579206e6565"
      "647320746f20626520686173686564206265666f7265206265696e6720757365"
      "642062792074686520484d414320616c676f726974686d2e",
      "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2" }
};


static void
test_hmac_rfc4231(void **state)
{
    size_t        i, n, len, mac_len;
    uint8_t       key[131], data[256], mac[32], own[32];
    store_hmac_t  prepared;

    (void) state;

    for (i = 0; i < sizeof(hmac_vectors) / sizeof(hmac_vectors[0]); i++) {
        memset(key, 0xaa, sizeof(key));
        n = sizeof(key);

        if (hmac_vectors[i].key) {
            n = unhex(hmac_vectors[i].key, key);
        }

        len = unhex(hmac_vectors[i].data, data);
        mac_len = unhex(hmac_vectors[i].mac, mac);

        store_hmac_prepare(&prepared, key, n);

        /* twice: a prepared state is not used up */

        store_hmac(&prepared, data, len, own);
        assert_memory_equal(own, mac, mac_len);
        store_hmac(&prepared, data, len, own);
        assert_memory_equal(own, mac, mac_len);
    }
}


/* FIPS 180-4 */
static void
test_sha256(void **state)
{
    uint8_t  digest[32], want[32];

    (void) state;

    unhex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
          want);
    store_sha256("abc", 3, digest);
    assert_memory_equal(digest, want, 32);
}


static const char *const  labels[STORE_LABELS] = {
    "cookie/1", "csrf/1", "flash/1", "link/1", "pre/1", "device/1"
};


static store_secrets_t *
secrets_open(const char *text)
{
    char              why[STORE_WHY_CHARS];
    store_secrets_t  *secrets;

    keys_text(text);
    assert_int_equal(store_secrets_read(keys, &secrets, why), STORE_OK);

    return secrets;
}


static void
test_secrets_id_is_hkdf(void **state)
{
    size_t            i;
    uint8_t           secret[32], id;
    store_secrets_t  *secrets;

    (void) state;

    for (i = 0; i < sizeof(secret); i++) {
        secret[i] = (uint8_t) i;
    }

    secrets = secrets_open(SECRET_A "\n");

    hkdf(NULL, 0, secret, sizeof(secret), "id", 2, &id, 1);
    assert_int_equal(store_secrets_id(secrets, 0), id);

    store_secrets_free(secrets);
}


/* Every label, line and two realms, computed here from the definition. */
static void
test_keyring_mac_is_as_defined(void **state)
{
    size_t             i, n;
    uint8_t            secret[32], key[32], want[32], mac[32];
    unsigned           label, line, r;
    const char        *realms[] = { "default", "b" };
    char               info[64];
    store_secrets_t   *secrets;
    store_keyring_t   *keyring;

    (void) state;

    secrets = secrets_open(SECRET_A "\n" SECRET_B "\n");

    for (r = 0; r < 2; r++) {
        assert_int_equal(store_keyring_derive(secrets, realms[r], &keyring),
                         STORE_OK);

        for (line = 0; line < 2; line++) {
            for (i = 0; i < sizeof(secret); i++) {
                secret[i] = (uint8_t) (line * 32 + i);
            }

            for (label = 0; label < STORE_LABELS; label++) {
                n = strlen(labels[label]) + 1;
                memcpy(info, labels[label], n);
                memcpy(info + n, realms[r], strlen(realms[r]));

                hkdf(NULL, 0, secret, sizeof(secret), info,
                     n + strlen(realms[r]), key, sizeof(key));
                hmac(key, sizeof(key), "data", 4, want);

                store_keyring_mac(keyring, (store_label_t) label, line,
                                  "data", 4, mac);
                assert_memory_equal(mac, want, sizeof(mac));
            }
        }

        store_keyring_free(keyring);
    }

    store_secrets_free(secrets);
}


static void
test_keyring_macs_never_meet(void **state)
{
    uint8_t           macs[2 * 2 * STORE_LABELS][32];
    unsigned          i, j, n, line, label, r;
    const char       *realms[] = { "a", "b" };
    store_secrets_t  *secrets;
    store_keyring_t  *keyring;

    (void) state;

    secrets = secrets_open(SECRET_A "\n" SECRET_B "\n");
    n = 0;

    for (r = 0; r < 2; r++) {
        assert_int_equal(store_keyring_derive(secrets, realms[r], &keyring),
                         STORE_OK);

        for (line = 0; line < 2; line++) {
            for (label = 0; label < STORE_LABELS; label++) {
                store_keyring_mac(keyring, (store_label_t) label, line, "x", 1,
                                  macs[n++]);
            }
        }

        store_keyring_free(keyring);
    }

    for (i = 0; i < n; i++) {
        for (j = 0; j < i; j++) {
            assert_memory_not_equal(macs[i], macs[j], 32);
        }
    }

    store_secrets_free(secrets);
}


static void
test_keyring_derive_realm(void **state)
{
    store_secrets_t  *secrets;
    store_keyring_t  *keyring;

    (void) state;

    secrets = secrets_open(SECRET_A "\n");

    assert_int_equal(store_keyring_derive(secrets, "", &keyring),
                     STORE_INVALID);
    assert_int_equal(store_keyring_derive(secrets, "A", &keyring),
                     STORE_INVALID);
    assert_int_equal(store_keyring_derive(secrets,
                                          "0123456789012345678901234567890123",
                                          &keyring), STORE_INVALID);

    /* the longest one */
    assert_int_equal(store_keyring_derive(secrets,
                                          "01234567890123456789012345678901",
                                          &keyring), STORE_OK);
    store_keyring_free(keyring);
    store_keyring_free(NULL);
    store_secrets_free(secrets);
}


/* A keyring outlives the secrets: workers wipe those after derivation. */
static void
test_keyring_needs_no_secrets(void **state)
{
    uint8_t           before[32], after[32];
    store_secrets_t  *secrets;
    store_keyring_t  *keyring;

    (void) state;

    secrets = secrets_open(SECRET_A "\n");
    assert_int_equal(store_keyring_derive(secrets, "default", &keyring),
                     STORE_OK);
    store_keyring_mac(keyring, STORE_LABEL_LINK, 0, "x", 1, before);
    store_secrets_free(secrets);
    store_keyring_mac(keyring, STORE_LABEL_LINK, 0, "x", 1, after);
    assert_memory_equal(before, after, 32);

    store_keyring_free(keyring);
}


/* "dd" among the VmFlags of a mapping: do not dump */
static void
assert_not_dumped(const void *p)
{
    int            inside;
    char           line[512];
    FILE          *f;
    unsigned long  from, to;

    f = fopen("/proc/self/smaps", "r");
    assert_non_null(f);
    inside = 0;

    while (fgets(line, sizeof(line), f)) {
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2) {
            inside = (unsigned long) p >= from && (unsigned long) p < to;
        }

        if (inside && strncmp(line, "VmFlags:", 8) == 0) {
            assert_non_null(strstr(line, " dd"));
            fclose(f);
            return;
        }
    }

    fclose(f);
    fail_msg("no mapping with flags was found");
}


static void
test_pages_stay_out_of_core_dumps(void **state)
{
    store_random_t   *rng;
    store_secrets_t  *secrets;
    store_keyring_t  *keyring;

    (void) state;

    secrets = secrets_open(SECRET_A "\n");
    assert_int_equal(store_keyring_derive(secrets, "default", &keyring),
                     STORE_OK);
    assert_int_equal(store_random_create(&rng), STORE_OK);

    assert_not_dumped(secrets);
    assert_not_dumped(keyring);
    assert_not_dumped(rng);

    store_keyring_free(keyring);
    store_secrets_free(secrets);
}


/* What must not be found, and a window to look through; in pages of their own
 * that are not looked at. */
typedef struct {
    uint8_t  raw[32];
    uint8_t  derived[32];
    char     text[44];
    uint8_t  window[1 << 16];
} hunt_t;


/* 1 when the bytes from..to of this process hold one of the three. */
static int
hunt_range(hunt_t *hunt, int mem, unsigned long from, unsigned long to)
{
    size_t   room;
    ssize_t  n;

    while (from < to) {
        room = to - from < sizeof(hunt->window) ? to - from
                                                : sizeof(hunt->window);
        n = pread(mem, hunt->window, room, (off_t) from);

        if (n <= 0) {
            return 0;
        }

        if (memmem(hunt->window, (size_t) n, hunt->raw, 16)
            || memmem(hunt->window, (size_t) n, hunt->derived, 16)
            || memmem(hunt->window, (size_t) n, hunt->text, 20))
        {
            return 1;
        }

        /* what lies across the border is met in the next window */
        from += (unsigned long) n > 64 ? (unsigned long) n - 63
                                       : (unsigned long) n;
    }

    return 0;
}


/* 1 when it lies in writable memory that a core dump would have. */
static int
hunt(hunt_t *h)
{
    int            mem, found, writable;
    char           line[512];
    FILE          *f;
    unsigned long  from, to;

    f = fopen("/proc/self/smaps", "r");
    mem = open("/proc/self/mem", O_RDONLY);
    assert_non_null(f);
    assert_true(mem != -1);

    found = 0;
    writable = 0;
    from = to = 0;

    while (fgets(line, sizeof(line), f)) {
        if (strncmp(line, "VmFlags:", 8) == 0) {
            /* the sanitizer's shadow is large and holds nothing of ours */
            if (writable && !strstr(line, " dd") && to - from < 1UL << 30) {
                found |= hunt_range(h, mem, from, to);
            }

        } else if (strchr(line, '-') && line[0] != ' ') {
            if (sscanf(line, "%lx-%lx", &from, &to) == 2) {
                writable = strstr(line, " rw") != NULL;
            }
        }
    }

    fclose(f);
    close(mem);

    return found;
}


/* The three values, computed by a child so that this process never has them
 * anywhere but in the pages. */
static void
hunt_prepare(hunt_t *h)
{
    int      fds[2];
    char     text[1024], *p;
    pid_t    pid;
    uint8_t  raw[32], key[32];

    assert_int_equal(pipe(fds), 0);

    pid = fork();
    assert_true(pid != -1);

    if (pid == 0) {
        keys_slurp(text, sizeof(text));
        p = strrchr(text, '=') - 43;
        (void) store_base64_decode(p, 43, raw, sizeof(raw));
        hkdf(NULL, 0, raw, sizeof(raw), "cookie/1\0default", 16, key,
             sizeof(key));
        _exit(write(fds[1], raw, 32) != 32 || write(fds[1], key, 32) != 32
              || write(fds[1], p, 44) != 44);
    }

    assert_int_equal(read(fds[0], h->raw, 32), 32);
    assert_int_equal(read(fds[0], h->derived, 32), 32);
    assert_int_equal(read(fds[0], h->text, 44), 44);
    assert_int_equal(waitpid(pid, NULL, 0), pid);

    close(fds[0]);
    close(fds[1]);
}


static void
test_keys_lie_in_their_pages_only(void **state)
{
    char              why[STORE_WHY_CHARS];
    void             *pages;
    uint8_t           mac[32], copy[32];
    hunt_t           *h;
    store_secrets_t  *secrets;
    store_keyring_t  *keyring;

    (void) state;

    (void) unlink(keys);
    assert_int_equal(store_secrets_random_create(keys, why), STORE_OK);
    assert_int_equal(store_pages_get(&pages, sizeof(hunt_t)), STORE_OK);

    h = pages;
    hunt_prepare(h);

    assert_int_equal(store_secrets_read(keys, &secrets, why), STORE_OK);
    assert_int_equal(store_keyring_derive(secrets, "default", &keyring),
                     STORE_OK);
    store_keyring_mac(keyring, STORE_LABEL_COOKIE, 0, "x", 1, mac);

    assert_int_equal(hunt(h), 0);

    /* the hunt does find what is there */

    memcpy(copy, h->derived, sizeof(copy));
    assert_int_equal(hunt(h), 1);
    store_wipe(copy, sizeof(copy));
    assert_int_equal(hunt(h), 0);

    store_keyring_free(keyring);
    store_secrets_free(secrets);
    store_pages_put(pages, sizeof(hunt_t));
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_hkdf_rfc5869),
        cmocka_unit_test(test_hmac_rfc4231),
        cmocka_unit_test(test_sha256),
        cmocka_unit_test(test_secrets_id_is_hkdf),
        cmocka_unit_test(test_keyring_mac_is_as_defined),
        cmocka_unit_test(test_keyring_macs_never_meet),
        cmocka_unit_test(test_keyring_derive_realm),
        cmocka_unit_test(test_keyring_needs_no_secrets),
        cmocka_unit_test(test_pages_stay_out_of_core_dumps),
        cmocka_unit_test(test_keys_lie_in_their_pages_only)
    };

    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
