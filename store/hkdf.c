#include <errno.h>

#include <openssl/core_names.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include "hkdf.h"
#include "store.h"


int
store_hkdf(const void *secret, size_t n, const void *info, size_t info_len,
    uint8_t *out, size_t out_len)
{
    int           rc;
    char          digest[] = "SHA256";
    EVP_KDF      *kdf;
    OSSL_PARAM    params[4];
    EVP_KDF_CTX  *ctx;

    kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);

    if (kdf == NULL) {
        return ENOTSUP;
    }

    /* the context holds its own reference */
    ctx = EVP_KDF_CTX_new(kdf);
    EVP_KDF_free(kdf);

    if (ctx == NULL) {
        return ENOMEM;
    }

    params[0] = OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST,
                                                 digest, 0);
    params[1] = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY,
                                                  (void *) secret, n);
    params[2] = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO,
                                                  (void *) info, info_len);
    params[3] = OSSL_PARAM_construct_end();

    rc = EVP_KDF_derive(ctx, out, out_len, params) == 1 ? STORE_OK : ENOTSUP;

    EVP_KDF_CTX_free(ctx);

    return rc;
}
