/* csp.c: a policy is taken exactly when cutting it up with strtok_r() finds
 * nothing against it, and what is written is its words with the nonce put in
 * where a word asks for it. */

#include "fuzz.h"
#include "text/csp.h"


#define NONCE  "0123456789abcdefABCDEF=="


static int
wants_nonce(const char *word)
{
    return strcasecmp(word, "'nonce'") == 0
           || strcasecmp(word, "'nonce-$csp_nonce'") == 0;
}


/* Names of directives: letters, digits and '-', each once. */
static int
directives(const char *policy)
{
    char    copy[TEXT_CSP_POLICY_MAX + 1], *p, *q, *part, *word;
    char   *names[TEXT_CSP_POLICY_MAX];
    size_t  i, n;

    n = 0;

    for (part = strtok_r(strcpy(copy, policy), ";", &p); part != NULL;
         part = strtok_r(NULL, ";", &p))
    {
        word = strtok_r(part, " ", &q);

        if (word == NULL) {
            continue;
        }

        if (word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST"
                              "UVWXYZ0123456789-")] != '\0')
        {
            return TEXT_CSP_BAD_DIRECTIVE;
        }

        for (i = 0; i < n; i++) {
            if (strcasecmp(names[i], word) == 0) {
                return TEXT_CSP_DUPLICATE;
            }
        }

        names[n++] = word;
    }

    return n == 0 ? TEXT_CSP_EMPTY : TEXT_CSP_OK;
}


static int
words(const char *policy)
{
    int    n;
    char   copy[TEXT_CSP_POLICY_MAX + 1], *p, *word;

    n = 0;

    for (word = strtok_r(strcpy(copy, policy), " ;", &p); word != NULL;
         word = strtok_r(NULL, " ;", &p))
    {
        if (wants_nonce(word)) {
            n++;

        } else if (strcasestr(word, "'nonce") || strcasestr(word, "$csp_nonce"))
        {
            return TEXT_CSP_BAD_NONCE;
        }

        if (n > TEXT_CSP_NONCES_MAX) {
            return TEXT_CSP_TOO_MANY_NONCES;
        }
    }

    return TEXT_CSP_OK;
}


static int
expect(const uint8_t *data, size_t size, char *policy)
{
    int     rc;
    size_t  i;

    if (size > TEXT_CSP_POLICY_MAX) {
        return TEXT_CSP_TOO_LONG;
    }

    for (i = 0; i < size; i++) {
        if (data[i] < 0x20 || data[i] > 0x7e || data[i] == ',') {
            return TEXT_CSP_BAD_BYTE;
        }
    }

    memcpy(policy, data, size);
    policy[size] = '\0';

    rc = directives(policy);

    return rc == TEXT_CSP_OK ? words(policy) : rc;
}


/* Walks through the policy and the value that was written side by side. */
static void
compare(const char *policy, const char *value, const char *end)
{
    char    word[TEXT_CSP_POLICY_MAX + 1];
    size_t  n;

    policy += strspn(policy, " ");

    while (value < end) {

        if (*policy == ' ' || *policy == ';') {
            fuzz_check(*value++ == *policy++);
            continue;
        }

        n = strcspn(policy, " ;");
        fuzz_check(n != 0);
        memcpy(word, policy, n);
        word[n] = '\0';
        policy += n;

        if (wants_nonce(word)) {
            strcpy(word, "'nonce-" NONCE "'");
            n = strlen(word);
        }

        fuzz_check((size_t) (end - value) >= n && !memcmp(value, word, n));
        value += n;
    }

    fuzz_check(policy[strspn(policy, " ")] == '\0' && end[-1] != ' ');
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int          rc;
    char         policy[TEXT_CSP_POLICY_MAX + 1];
    size_t       at, room;
    uint8_t     *normal, *out;
    text_csp_t   csp;
    text_span_t  in = { data, size };

    room = 2 * size + 64;
    normal = fuzz_buffer(room);
    rc = text_csp_compile(in, normal, room, &csp, &at);
    fuzz_check(at <= size && text_csp_strerror(rc) != NULL);
    fuzz_check(rc == expect(data, size, policy));

    if (rc == TEXT_CSP_OK) {
        out = fuzz_buffer(csp.len);
        fuzz_check(text_csp_write(&csp, (const uint8_t *) NONCE, out)
                   == csp.len);
        compare(policy, (char *) out, (char *) out + csp.len);
        free(out);
    }

    free(normal);

    return 0;
}
