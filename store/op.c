#include "write.h"


/* the longest text an operation carries */
#define STORE_OP_TEXT_MAX  256

_Static_assert(STORE_OP_TEXT_MAX >= STORE_ROLES_MAX
               && STORE_OP_TEXT_MAX >= STORE_AGENT_MAX
               && STORE_OP_TEXT_MAX >= STORE_PHC_MAX, "texts of operations");


static int store_op_sign_in_check(const store_op_t *op);
static int store_op_create_check(const store_op_t *op);
static int store_op_roles_check(const store_op_t *op);


#define store_op_text_check(t)                                               \
    store_op_text((t)->data, (t)->len, sizeof((t)->data) - 1)


/* What every kind needs, and then its own. */
int
store_op_check(const store_op_t *op)
{
    if (op->now <= 0 || op->now > STORE_TIME_MAX
        || (unsigned) op->actor > STORE_BY_CLI
        || store_op_text_check(&op->address) != STORE_OK
        || store_op_text_check(&op->agent) != STORE_OK)
    {
        return STORE_INVALID;
    }

    switch (op->kind) {

    case STORE_OP_SIGN_IN:
        return store_op_sign_in_check(op);

    case STORE_OP_END:
    case STORE_OP_END_REF:
    case STORE_OP_END_OTHERS:
    case STORE_OP_END_ALL:
        return op->end > STORE_END_NONE && op->end <= STORE_END_UNCERTAIN
               ? STORE_OK : STORE_INVALID;

    case STORE_OP_USER_CREATE:
        return store_op_create_check(op);

    case STORE_OP_USER_PASSWORD:
        return store_op_text_check(&op->phc);

    case STORE_OP_USER_ROLES:
        return store_op_roles_check(op);

    case STORE_OP_USER_NAME:
        return store_op_text_check(&op->name);

    case STORE_OP_KEYS_LOADED:
        return op->max <= STORE_SECRETS_MAX ? STORE_OK : STORE_INVALID;

    case STORE_OP_EVENT:
        return op->event ? STORE_OK : STORE_INVALID;

    case STORE_OP_TOUCH:
    case STORE_OP_USER_DISABLE:
    case STORE_OP_USER_ENABLE:
    case STORE_OP_USER_DELETE:
    case STORE_OP_SWEEP:
        return STORE_OK;
    }

    return STORE_INVALID;
}


static int
store_op_sign_in_check(const store_op_t *op)
{
    if (op->lifetime == 0 || op->lifetime > STORE_LIFETIME_MAX
        || op->idle > STORE_LIFETIME_MAX)
    {
        return STORE_INVALID;
    }

    return store_op_text_check(&op->phc);
}


static int
store_op_create_check(const store_op_t *op)
{
    store_realm_t  realm;

    if (op->realm.len > STORE_REALM_MAX
        || store_realm_set(&realm, op->realm.data, op->realm.len) != STORE_OK)
    {
        return STORE_INVALID;
    }

    if (op->login.len == 0
        || store_op_text_check(&op->login) != STORE_OK
        || store_op_text_check(&op->name) != STORE_OK
        || store_op_text_check(&op->phc) != STORE_OK)
    {
        return STORE_INVALID;
    }

    return store_op_roles_check(op);
}


/* In the one form that store_roles_set() gives. */
static int
store_op_roles_check(const store_op_t *op)
{
    store_roles_t  roles;

    if (op->roles.len > STORE_ROLES_MAX
        || store_roles_set(&roles, op->roles.data, op->roles.len) != STORE_OK
        || roles.len != op->roles.len
        || !store_equal(roles.data, op->roles.data, roles.len))
    {
        return STORE_INVALID;
    }

    return STORE_OK;
}


int
store_op_text(const char *data, size_t n, size_t max)
{
    char      copy[STORE_OP_TEXT_MAX + 1];
    uint16_t  len;

    return store_text_put(&len, copy, max, data, n);
}


int
store_quota_check(store_write_t *w)
{
    int       rc;
    uint64_t  bytes;

    rc = store_env_bytes(w->env, w->txn, &bytes);
    if (rc != STORE_OK) {
        return rc;
    }

    if (bytes >= w->store->quota) {
        w->over_quota = 1;
        return MDB_MAP_FULL;
    }

    return STORE_OK;
}


int
store_keys_put(store_write_t *w, store_op_t *op)
{
    unsigned  i;
    uint8_t   buf[8 + STORE_SECRETS_MAX];

    store_be64_put(buf, (uint64_t) op->now);

    for (i = 0; i < op->max; i++) {
        buf[8 + i] = op->ids[i];
    }

    return store_db_put(w->txn, w->db[STORE_META], "keys", 4, buf,
                        8 + op->max, 0);
}
