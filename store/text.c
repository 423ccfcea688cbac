#include <string.h>

#include "store.h"


/* "a,b,...": no more fit into STORE_ROLES_MAX */
#define STORE_ROLES_COUNT  ((STORE_ROLES_MAX + 1) / 2)


typedef struct {
    const char  *data;
    size_t       len;
} store_role_t;


static size_t store_text_char(const uint8_t *p, size_t n);
static int store_role_valid(const char *role, size_t n);
static int store_role_compare(const store_role_t *a, const store_role_t *b);
static int store_role_add(store_role_t *list, size_t *n,
    const store_role_t *role);


int
store_text_put(uint16_t *len, char *data, size_t max, const void *bytes,
    size_t n)
{
    size_t          i, step;
    const uint8_t  *p;

    p = bytes;

    if (n > max || n > UINT16_MAX) {
        return STORE_INVALID;
    }

    if (n && (p[0] == ' ' || p[n - 1] == ' ')) {
        return STORE_INVALID;
    }

    for (i = 0; i < n; i += step) {
        step = store_text_char(p + i, n - i);

        if (step == 0) {
            return STORE_INVALID;
        }
    }

    if (n) {
        memmove(data, p, n);
    }

    data[n] = '\0';
    *len = (uint16_t) n;

    return STORE_OK;
}


/*
 * Length of the character at p, or 0 if it is a control character or not
 * UTF-8 (RFC 3629: shortest form, no surrogates, up to U+10FFFF).  U+0080 to
 * U+009F are control characters too: a terminal may take U+009B for ESC [.
 */
static size_t
store_text_char(const uint8_t *p, size_t n)
{
    size_t    i, len;
    uint32_t  c, min;

    if (p[0] < 0x80) {
        return p[0] >= 0x20 && p[0] != 0x7f;
    }

    if (p[0] < 0xc2 || p[0] > 0xf4) {
        return 0;
    }

    if (p[0] < 0xe0) {
        len = 2;
        min = 0xa0;
        c = p[0] & 0x1f;

    } else if (p[0] < 0xf0) {
        len = 3;
        min = 0x800;
        c = p[0] & 0x0f;

    } else {
        len = 4;
        min = 0x10000;
        c = p[0] & 0x07;
    }

    if (n < len) {
        return 0;
    }

    for (i = 1; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }

        c = c << 6 | (p[i] & 0x3f);
    }

    if (c < min || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) {
        return 0;
    }

    return len;
}


void
store_agent_set(store_agent_t *agent, const void *bytes, size_t n)
{
    size_t          i, len, step;
    const uint8_t  *p;

    p = bytes;

    while (n && *p == ' ') {
        p++;
        n--;
    }

    for (i = 0, len = 0; i < n; i += step) {
        step = store_text_char(p + i, n - i);

        if (len + (step ? step : 1) > STORE_AGENT_MAX) {
            break;
        }

        if (step == 0) {
            agent->data[len++] = '?';
            step = 1;
            continue;
        }

        memmove(agent->data + len, p + i, step);
        len += step;
    }

    while (len && agent->data[len - 1] == ' ') {
        len--;
    }

    agent->data[len] = '\0';
    agent->len = (uint16_t) len;
}


/* Nothing is written before the whole list is known to fit. */
int
store_roles_set(store_roles_t *roles, const char *bytes, size_t n)
{
    size_t         i, start, count, len;
    store_role_t   role, list[STORE_ROLES_COUNT];
    store_roles_t  out;

    count = 0;

    for (i = 0, start = 0; i <= n; i++) {
        if (i < n && bytes[i] != ',' && bytes[i] != ' ') {
            continue;
        }

        role.data = bytes + start;
        role.len = i - start;
        start = i + 1;

        if (role.len == 0) {
            continue;
        }

        if (!store_role_valid(role.data, role.len)
            || store_role_add(list, &count, &role) != STORE_OK)
        {
            return STORE_INVALID;
        }
    }

    for (i = 0, len = 0; i < count; i++) {
        if (len + (i > 0) + list[i].len > STORE_ROLES_MAX) {
            return STORE_INVALID;
        }

        if (i) {
            out.data[len++] = ',';
        }

        memcpy(out.data + len, list[i].data, list[i].len);
        len += list[i].len;
    }

    memcpy(roles->data, out.data, len);
    roles->data[len] = '\0';
    roles->len = (uint16_t) len;

    return STORE_OK;
}


static int
store_role_valid(const char *role, size_t n)
{
    char    c;
    size_t  i;

    if (n == 0 || n > STORE_ROLE_MAX) {
        return 0;
    }

    for (i = 0; i < n; i++) {
        c = role[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
              || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == ':'
              || c == '-'))
        {
            return 0;
        }
    }

    return 1;
}


static int
store_role_compare(const store_role_t *a, const store_role_t *b)
{
    int  rc;

    rc = memcmp(a->data, b->data, a->len < b->len ? a->len : b->len);

    if (rc != 0) {
        return rc;
    }

    return (a->len > b->len) - (a->len < b->len);
}


/* Keeps the list sorted and without repetition. */
static int
store_role_add(store_role_t *list, size_t *n, const store_role_t *role)
{
    int     rc;
    size_t  i;

    for (i = *n; i > 0; i--) {
        rc = store_role_compare(&list[i - 1], role);

        if (rc == 0) {
            return STORE_OK;
        }

        if (rc < 0) {
            break;
        }
    }

    if (*n == STORE_ROLES_COUNT) {
        return STORE_INVALID;
    }

    memmove(&list[i + 1], &list[i], (*n - i) * sizeof(store_role_t));

    list[i] = *role;
    (*n)++;

    return STORE_OK;
}


int
store_roles_have(const char *roles, size_t len, const char *role, size_t n)
{
    size_t  i, start;

    if (n == 0) {
        return 0;
    }

    for (i = 0, start = 0; i <= len; i++) {
        if (i < len && roles[i] != ',') {
            continue;
        }

        if (i - start == n && memcmp(roles + start, role, n) == 0) {
            return 1;
        }

        start = i + 1;
    }

    return 0;
}


int
store_realm_set(store_realm_t *realm, const char *bytes, size_t n)
{
    char    c;
    size_t  i;

    if (n == 0 || n > STORE_REALM_MAX) {
        return STORE_INVALID;
    }

    for (i = 0; i < n; i++) {
        c = bytes[i];

        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'
              || c == '.' || c == '-'))
        {
            return STORE_INVALID;
        }
    }

    return store_text_set(realm, bytes, n);
}
