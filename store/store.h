/*
 * store.h: who is signed in.  Sessions, users, keys and the audit trail in
 * two LMDB environments that many processes share.  This is the only header
 * of the library; nothing else under store/ is public.
 *
 * CAVEATS, before anything else
 *
 *  - Open a store in the process that uses it, never before fork(), and never
 *    twice in one process (lmdb.h, "Caveats"): closing any descriptor of a lock
 *    file drops the whole process's locks.
 *  - A store is never closed.  mdb_env_close() of LMDB 0.9.26 to 0.9.31
 *    destroys the locks of live processes, so there is no function for it: the
 *    kernel cleans up at exit.  store_open() checks all it can before LMDB is
 *    asked, because a failing mdb_env_open() closes inside.
 *  - Two threads, with fixed roles: reads (store_session_get and all functions
 *    marked [reader]) belong to one thread, the event thread; changes (marked
 *    [writer]) belong to one other thread at a time.  A reader and a writer
 *    may run at once.  Functions without a mark are pure and may run anywhere.
 *  - A [writer] function takes LMDB's one write lock, which may wait for other
 *    processes, and syncs the disk.  Never call one from an event loop.
 *  - No function keeps a transaction open when it returns, and no pointer into
 *    the map ever leaves: results are copied into the caller's struct.
 *  - Time and randomness are arguments, except where a function's name says
 *    random.  Times are seconds since the epoch, UTC, in int64_t.
 *  - Nothing here logs, prints, aborts or touches errno's meaning.
 *
 * RETURN CODES
 *
 *  0 is STORE_OK.  Small negatives are expected outcomes (store_code_t) but
 *  for STORE_REPLACED.
 *  Everything else is an operating failure: LMDB's codes (-30799 and up) and
 *  errno values (> 0) pass through unchanged.  store_strerror() names all.
 *  Deny on every code but STORE_OK.
 */

#ifndef STORE_H_INCLUDED
#define STORE_H_INCLUDED


#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "limits.h"


#if defined(__GNUC__)
#define STORE_CHECK_RESULT  __attribute__((warn_unused_result))
#else
#define STORE_CHECK_RESULT
#endif


typedef enum {
    STORE_OK = 0,
    STORE_NOT_FOUND = -1,
    STORE_EXISTS = -2,          /* login taken, session key taken */
    STORE_MALFORMED = -3,       /* token or text not in canonical form */
    STORE_BAD_SIGNATURE = -4,
    STORE_UNKNOWN_KEY = -5,     /* token of a key that is not loaded */
    STORE_REVOKED = -6,
    STORE_IDLE = -7,
    STORE_EXPIRED = -8,
    STORE_DISABLED = -9,        /* user disabled or deleted */
    STORE_FUTURE = -10,         /* created more than 300 s ahead */
    STORE_REALM = -11,          /* belongs to another realm */
    STORE_BAD_PASSWORD = -12,
    STORE_CONFLICT = -13,       /* user changed since it was read */
    STORE_LIMIT = -14,          /* a bound of limits.h */
    STORE_CORRUPT = -15,        /* a record does not decode */
    STORE_VERSION = -16,        /* newer format or schema */
    STORE_MISSING = -17,        /* no store there: sessionctl init */
    STORE_BUSY = -18,           /* another opener or PID namespace */
    STORE_UNSAFE = -19,         /* owner, mode or file type */
    STORE_INVALID = -20,        /* an argument out of its range */
    STORE_REPLACED = -21        /* by other files while it was open, or given
                                 * up: see store_lost().  Not an outcome but
                                 * an operating failure */
} store_code_t;

/* Name of any code of this library, LMDB or errno.  Static or
 * thread-local storage; lower case, no full stop. */
const char *store_strerror(int code);


/*
 * Text in records is header-safe: valid UTF-8 without control characters
 * (below 0x20, 0x7f, U+0080 to U+009F), no space at either end.  Each is its
 * length and the bytes, NUL-terminated for convenience.
 */

#define STORE_TEXT(max)                                                      \
    struct {                                                                 \
        uint16_t  len;                                                       \
        char      data[(max) + 1];                                           \
    }

typedef STORE_TEXT(STORE_REALM_MAX)    store_realm_t;
typedef STORE_TEXT(STORE_LOGIN_MAX)    store_login_t;
typedef STORE_TEXT(STORE_NAME_MAX)     store_name_t;
typedef STORE_TEXT(STORE_ROLES_MAX)    store_roles_t;
typedef STORE_TEXT(STORE_ADDRESS_MAX)  store_address_t;
typedef STORE_TEXT(STORE_AGENT_MAX)    store_agent_t;
typedef STORE_TEXT(STORE_PHC_MAX)      store_phc_t;

/* Set a STORE_TEXT member; STORE_INVALID when not header-safe or too long. */
#define store_text_set(t, bytes, n)                                          \
    store_text_put(&(t)->len, (t)->data, sizeof((t)->data) - 1, bytes, n)

int store_text_put(uint16_t *len, char *data, size_t max, const void *bytes,
    size_t n) STORE_CHECK_RESULT;

/* User agents come from strangers: cut at the limit, every byte that is not
 * header-safe becomes '?'.  Never fails. */
void store_agent_set(store_agent_t *agent, const void *bytes, size_t n);

/* Roles: comma or space separated in, sorted, unique, comma separated out.
 * A role is 1..32 of [A-Za-z0-9_.:-]. */
int store_roles_set(store_roles_t *roles, const char *bytes, size_t n)
    STORE_CHECK_RESULT;

/* 1 when the list holds the role. */
int store_roles_have(const char *roles, size_t len, const char *role, size_t n);

/* A realm is 1..32 of [a-z0-9_.-]. */
int store_realm_set(store_realm_t *realm, const char *bytes, size_t n)
    STORE_CHECK_RESULT;


/* ------------------------------------------------------------ secrets --- */

/*
 * The keys file: one base64 secret per line, at most 8; the first signs, all
 * verify.  '#' lines and empty lines are ignored.  Secrets live in pages of
 * their own that are left out of core dumps (MADV_DONTDUMP); the caller owns
 * them and ends them with store_secrets_free(), which wipes.
 *
 * `why` receives a whole message that names file and remedy, for example
 *   "/etc/nginx/session.keys": group may write; run chmod g-w ...
 *
 * The file belongs to root or the effective user; others have no right to it
 * and the group may read it at most, else STORE_UNSAFE.  Also: ENOENT,
 * STORE_MALFORMED (a line that is no secret, CR LF, a repeated key id, no
 * secret at all), STORE_LIMIT (lines, bytes of the file), errno.  A symbolic
 * link is followed when the file is read and refused (ELOOP) when it is to be
 * changed.
 */

typedef struct store_secrets_s  store_secrets_t;

#define STORE_WHY_CHARS  512

int store_secrets_read(const char *file, store_secrets_t **secrets,
    char why[STORE_WHY_CHARS]) STORE_CHECK_RESULT;
void store_secrets_free(store_secrets_t *secrets);
unsigned store_secrets_count(const store_secrets_t *secrets);
/* The public id, one byte, of line i: first byte of HKDF(secret, "id"). */
uint8_t store_secrets_id(const store_secrets_t *secrets, unsigned i);

/* For sessionctl.  Each writes a new file beside, syncs and renames; the mode
 * and owner of an existing file are kept.  create() refuses to overwrite and
 * makes 0600.  Draws randomness itself.
 *
 * STORE_EXISTS (create), STORE_NOT_FOUND (no such id), STORE_LIMIT (add: 8
 * already), STORE_INVALID (drop of the line that signs), STORE_BUSY (somebody
 * else changes the file), and what read gives.  Promoting the first line
 * changes nothing. */
int store_secrets_random_create(const char *file, char why[STORE_WHY_CHARS])
    STORE_CHECK_RESULT;
int store_secrets_random_add(const char *file, uint8_t *id,
    char why[STORE_WHY_CHARS]) STORE_CHECK_RESULT;
int store_secrets_promote(const char *file, uint8_t id,
    char why[STORE_WHY_CHARS]) STORE_CHECK_RESULT;
int store_secrets_drop(const char *file, uint8_t id,
    char why[STORE_WHY_CHARS]) STORE_CHECK_RESULT;


/*
 * A keyring is what one realm's requests need: for each secret and purpose
 * the two SHA-256 states of HMAC with the key already mixed in, derived once
 * with HKDF-SHA-256 (info = label "/1" 0x00 realm).  Lives in DONTDUMP pages.
 * Read-only after derive, so any thread may use it.
 */

typedef struct store_keyring_s  store_keyring_t;

typedef enum {
    STORE_LABEL_COOKIE = 0,
    STORE_LABEL_CSRF,
    STORE_LABEL_FLASH,
    STORE_LABEL_LINK,
    STORE_LABEL_PRE,            /* the cookie before there is a session */
    STORE_LABEL_DEVICE,         /* the known-device cookie */
    STORE_LABELS
} store_label_t;

int store_keyring_derive(const store_secrets_t *secrets, const char *realm,
    store_keyring_t **keyring) STORE_CHECK_RESULT;
void store_keyring_free(store_keyring_t *keyring);

/* HMAC-SHA-256 with secret number `line` (0 signs). */
void store_keyring_mac(const store_keyring_t *keyring, store_label_t label,
    unsigned line, const void *data, size_t n, uint8_t mac[STORE_MAC_BYTES]);


/* -------------------------------------------------------------- token --- */

/*
 * key id (1) | created, seconds, BE (4) | random (17) | HMAC (32), base64url:
 * 72 characters.  The HMAC covers the first 22 bytes.  The id is the 21 bytes
 * between; it outlives the key that signed it.
 */

void store_token_id(int64_t now, const uint8_t random[STORE_ID_RANDOM_BYTES],
    uint8_t id[STORE_ID_BYTES]);
/* Writes 72 characters, no NUL. */
void store_token_sign(const store_keyring_t *keyring,
    const uint8_t id[STORE_ID_BYTES], char text[STORE_TOKEN_CHARS]);
/* STORE_OK, STORE_MALFORMED, STORE_UNKNOWN_KEY or STORE_BAD_SIGNATURE.
 * Constant time in the bytes of the MAC.  *line (may be NULL) is the number
 * of the secret that signed it; not 0 means: re-issue when convenient. */
int store_token_verify(const store_keyring_t *keyring, const char *text,
    size_t len, uint8_t id[STORE_ID_BYTES], unsigned *line) STORE_CHECK_RESULT;

/* Database key of an id, public ref of a key (12 characters and a NUL). */
void store_token_key(const uint8_t id[STORE_ID_BYTES],
    uint8_t key[STORE_KEY_BYTES]);
void store_key_ref(const uint8_t key[STORE_KEY_BYTES],
    char ref[STORE_REF_CHARS + 1]);

/* CSRF token of an id (a session id or a pre-session id): 86 characters. */
void store_csrf_sign(const store_keyring_t *keyring, const uint8_t *id,
    size_t n, const uint8_t mask[STORE_MAC_BYTES], char text[STORE_CSRF_CHARS]);
int store_csrf_verify(const store_keyring_t *keyring, const uint8_t *id,
    size_t n, const char *text, size_t len) STORE_CHECK_RESULT;

/* Small signed values: key id (1), data, HMAC; label says the purpose.
 * data is 16 bytes for PRE, 8 (user) for DEVICE; sizes in limits.h. */
void store_signed_write(const store_keyring_t *keyring, store_label_t label,
    const uint8_t *data, size_t n, char *text);
int store_signed_read(const store_keyring_t *keyring, store_label_t label,
    const char *text, size_t len, uint8_t *data, size_t n) STORE_CHECK_RESULT;

/* Canonical base64url without padding.  encode returns the characters
 * written; decode returns STORE_OK only if exactly n bytes came out and no
 * stray bits were set. */
size_t store_base64url_encode(const uint8_t *data, size_t n, char *text);
int store_base64url_decode(const char *text, size_t len, uint8_t *data,
    size_t n) STORE_CHECK_RESULT;


/* ------------------------------------------------- random and wiping --- */

/* getrandom(2), whole or error; no fallback. */
int store_random(void *buf, size_t n) STORE_CHECK_RESULT;

/* A buffer in front of it for small draws: 4 KB a refill, bytes are wiped as
 * they are drawn.  One per thread.  A child of fork() never draws the same. */
typedef struct store_random_s  store_random_t;

int store_random_create(store_random_t **rng) STORE_CHECK_RESULT;
int store_random_draw(store_random_t *rng, void *buf, size_t n)
    STORE_CHECK_RESULT;

void store_wipe(void *buf, size_t n);
/* 1 when equal, constant time in the contents. */
int store_equal(const void *a, const void *b, size_t n);


/* ---------------------------------------------------------- passwords --- */

typedef struct {
    uint32_t  memory;           /* KiB */
    uint32_t  passes;
} store_hash_params_t;

#define STORE_HASH_DEFAULT_MEMORY  19456
#define STORE_HASH_DEFAULT_PASSES  2

/* argon2id, p=1, 16-byte salt, 32-byte tag, PHC string out.  Slow and uses
 * `memory`: thread pool only.  STORE_OK, STORE_INVALID or ENOMEM. */
int store_password_hash(const store_hash_params_t *params,
    const void *password, size_t n, const uint8_t salt[STORE_SALT_BYTES],
    store_phc_t *phc) STORE_CHECK_RESULT;
/* STORE_OK, STORE_BAD_PASSWORD, STORE_CORRUPT (PHC string not ours or over
 * the caps of limits.h; nothing is allocated then) or ENOMEM. */
int store_password_verify(const store_phc_t *phc, const void *password,
    size_t n) STORE_CHECK_RESULT;
/* A PHC string that costs the same and matches nothing; for unknown users. */
void store_password_dummy(const store_hash_params_t *params, store_phc_t *phc);
/* 1 when the stored parameters differ from params. */
int store_password_outdated(const store_phc_t *phc,
    const store_hash_params_t *params);
/* 128 random bits as text for a person to type: STORE_GENERATED_CHARS. */
#define STORE_GENERATED_CHARS  26
int store_password_random(char text[STORE_GENERATED_CHARS + 1])
    STORE_CHECK_RESULT;


/* ------------------------------------------------------------ records --- */

typedef enum {
    STORE_END_NONE = 0,
    STORE_END_SIGN_OUT = 1,
    STORE_END_REVOKED = 2,      /* by an operator or from another session */
    STORE_END_REPLACED = 3,     /* a new sign-in in the same browser */
    STORE_END_LIMIT = 4,        /* session_limit reached */
    STORE_END_IDLE = 5,
    STORE_END_EXPIRED = 6,
    STORE_END_DISABLED = 7,
    STORE_END_DELETED = 8,
    STORE_END_PASSWORD = 9,
    STORE_END_UNCERTAIN = 10    /* its sign-in was answered "outcome unknown" */
} store_end_t;

const char *store_end_name(store_end_t end);    /* "sign_out", ... */

typedef struct {
    uint8_t          key[STORE_KEY_BYTES];
    uint8_t          user[STORE_USER_BYTES];
    uint64_t         generation;    /* the user's, at creation or at the
                                     * password change that it outlived */
    int64_t          created;
    int64_t          seen;          /* written at most once per touch= */
    int64_t          authenticated; /* last time the password was given */
    int64_t          ended;         /* 0 while live */
    uint32_t         idle;          /* seconds, 0: none */
    uint32_t         lifetime;      /* seconds */
    store_end_t      end;
    store_realm_t    realm;
    store_login_t    login;
    store_name_t     name;
    store_roles_t    roles;
    store_address_t  address;
    store_agent_t    agent;
} store_session_t;

/*
 * What a record is worth now, pure: STORE_OK, STORE_REALM, STORE_FUTURE,
 * STORE_REVOKED, STORE_IDLE, STORE_EXPIRED or STORE_DISABLED.  Sessions expire
 * when now >= created + lifetime, or now >= seen + idle.  A clock up to 300 s
 * behind counts as "now".
 */
int store_session_judge(const store_session_t *session, const char *realm,
    size_t n, int64_t now);
/* min(created + lifetime, seen + idle) */
int64_t store_session_expires(const store_session_t *session);

#define STORE_USER_DISABLED  0x01

typedef struct {
    uint8_t        id[STORE_USER_BYTES];
    uint64_t       generation;  /* grows with password, disable, delete */
    uint32_t       flags;
    int64_t        created;
    int64_t        changed;
    int64_t        signed_in;   /* last success, 0: never */
    store_realm_t  realm;
    store_login_t  login;       /* as given; looked up in ASCII lower case */
    store_name_t   name;
    store_roles_t  roles;
    store_phc_t    phc;         /* empty: cannot sign in with a password */
} store_user_t;

typedef enum {
    STORE_EVENT_SIGN_IN = 1,
    STORE_EVENT_SIGN_IN_FAILED = 2,     /* aggregated, see count */
    STORE_EVENT_SESSION_END = 3,
    STORE_EVENT_REFUSED = 4,
    STORE_EVENT_USER_CREATED = 5,
    STORE_EVENT_USER_PASSWORD = 6,
    STORE_EVENT_USER_ROLES = 7,
    STORE_EVENT_USER_DISABLED = 8,
    STORE_EVENT_USER_ENABLED = 9,
    STORE_EVENT_USER_DELETED = 10,
    STORE_EVENT_USER_NAME = 11,
    STORE_EVENT_RESTORED = 12
} store_event_type_t;

const char *store_event_name(store_event_type_t type);

typedef enum {
    STORE_BY_SERVER = 0,        /* expiry, limits */
    STORE_BY_USER = 1,          /* the person, in a browser */
    STORE_BY_CLI = 2
} store_actor_t;

/* One row of the change feed and one audit event: the same facts. */
typedef struct {
    uint64_t            seq;    /* of the feed, or of the events */
    store_event_type_t  type;
    store_actor_t       actor;
    store_end_t         end;    /* SESSION_END */
    int                 reason; /* REFUSED and SIGN_IN_FAILED: store_code_t */
    int64_t             time;
    uint64_t            generation;     /* of the user after the change */
    uint32_t            count;  /* aggregated events, else 1 */
    uint8_t             user[STORE_USER_BYTES]; /* zero: unknown */
    uint8_t             key[STORE_KEY_BYTES];   /* zero: no session */
    store_realm_t       realm;
    store_login_t       login;
    store_address_t     address;
    store_agent_t       agent;
} store_event_t;


/* --------------------------------------------------------------- open --- */

typedef struct store_s  store_t;

typedef struct {
    const char  *path;
    size_t       quota;         /* bytes of sessions.v1.mdb in use at which
                                 * sign-ins and new users are refused; 0, and
                                 * at most: all but a sixteenth of the map, so
                                 * that ending sessions never fails for want
                                 * of room */
    size_t       map_size;      /* 0: STORE_MAP_SIZE.  Other sizes are for
                                 * tests: all openers must agree */
    int          wait_ms;       /* for another opener; 0: do not wait */
} store_options_t;

/*
 * Creates directory (0700), owner file, lock file and both environments
 * (0600).  uid and gid (-1: leave) own the directory; called as root, drops to
 * them for good before anything is made inside.  STORE_EXISTS when there is a
 * store already; it is left as it is.
 */
int store_init(const store_options_t *options, uid_t uid, gid_t gid,
    char why[STORE_WHY_CHARS]) STORE_CHECK_RESULT;

/*
 * Opens after checking directory, modes, owner, file sizes, LMDB meta pages,
 * format and PID namespace, under an exclusive lock on open.lock.  Never
 * creates or changes data.  `why` is a whole message for the operator.
 * STORE_MISSING, STORE_UNSAFE, STORE_VERSION (newer, or another map_size),
 * STORE_CORRUPT, STORE_BUSY (also: open in this process already), or an
 * operating failure.
 */
int store_open(const store_options_t *options, store_t **store,
    char why[STORE_WHY_CHARS]) STORE_CHECK_RESULT;

/* As root: become the owner of the store directory (setgroups, setresgid,
 * setresuid), having checked it without following links.  Else nothing. */
int store_drop_to_owner(const char *path, char why[STORE_WHY_CHARS])
    STORE_CHECK_RESULT;

/* lstat only, for nginx -t: STORE_OK or what store_open would say about the
 * directory, its file system and the file names.  Writes nothing, opens
 * nothing. */
int store_look(const char *path, char why[STORE_WHY_CHARS]) STORE_CHECK_RESULT;

/* 1 when a store there works, but its file system may be another machine's or
 * goes away with a container or the machine; why says so. */
int store_remark(const char *path, char why[STORE_WHY_CHARS]);


/* -------------------------------------------------------------- reads --- */

/* [reader] One get.  STORE_OK or STORE_NOT_FOUND; judge the result. */
int store_session_get(store_t *store, const uint8_t key[STORE_KEY_BYTES],
    store_session_t *session) STORE_CHECK_RESULT;

/*
 * [reader] The same for a request at `now`: *session is not the caller's, and
 * good until the next [reader] function is called.  Once store_cache_start()
 * was, live sessions may come from memory: as they are in the newest commit,
 * but for `seen`, which may be older, never so much that somebody would be
 * idle, or that its last use, which is written every `touch` seconds, would
 * have to be written.
 */
int store_session_look(store_t *store, const uint8_t key[STORE_KEY_BYTES],
    int64_t now, int64_t touch, const store_session_t **session)
    STORE_CHECK_RESULT;

/* [reader] Keep up to 4096 sessions, in less than 4 MiB that are used as they
 * are needed and left out of core dumps.  STORE_OK (also: does already), or
 * there is no memory for it and all goes on without. */
int store_cache_start(store_t *store) STORE_CHECK_RESULT;

/* [reader] A user's live sessions, newest first; *n in: room, out: found. */
int store_session_list(store_t *store, const uint8_t user[STORE_USER_BYTES],
    store_session_t *sessions, size_t *n) STORE_CHECK_RESULT;

/* [reader] */
int store_user_get(store_t *store, const uint8_t id[STORE_USER_BYTES],
    store_user_t *user) STORE_CHECK_RESULT;
/* [reader] Finds by realm and login in any ASCII case. */
int store_user_find(store_t *store, const char *realm, size_t realm_len,
    const char *login, size_t login_len, store_user_t *user)
    STORE_CHECK_RESULT;

/* [reader] Audit events of one user, newest first; types is a mask of
 * 1 << store_event_type_t, 0: all.  Looks at no more than 1000 rows. */
int store_event_list(store_t *store, const uint8_t user[STORE_USER_BYTES],
    unsigned types, store_event_t *events, size_t *n) STORE_CHECK_RESULT;

/*
 * Walks for tools, in key order, in read transactions of at most 1000 rows
 * each, so that a slow visitor never pins old pages.  The visitor returns 0 to
 * go on; anything else ends the walk and is returned.  [reader]
 */
typedef int (*store_session_visit_pt)(const store_session_t *s, void *data);
typedef int (*store_user_visit_pt)(const store_user_t *u, void *data);
typedef int (*store_event_visit_pt)(const store_event_t *e, void *data);

int store_session_each(store_t *store, store_session_visit_pt visit,
    void *data) STORE_CHECK_RESULT;
/* A user's live sessions instead, newest first, of one commit.  The one with
 * the key `own` is not read: its visit is of NULL.  STORE_CORRUPT: a record is
 * damaged, and all others have been visited. */
int store_session_others(store_t *store, const uint8_t user[STORE_USER_BYTES],
    const uint8_t own[STORE_KEY_BYTES], store_session_visit_pt visit,
    void *data) STORE_CHECK_RESULT;
int store_user_each(store_t *store, store_user_visit_pt visit, void *data)
    STORE_CHECK_RESULT;
/* The change feed, rows with seq > after.  *first (may be NULL) is the oldest
 * sequence kept: up to `after` + 1 nothing was missed.  Every row that affects
 * a session names its key.  A USER_ROLES, USER_NAME or USER_PASSWORD with a key
 * only says that this session's record was rewritten: it follows the user's
 * own row, and is not copied into the events. */
int store_change_each(store_t *store, uint64_t after, uint64_t *first,
    store_event_visit_pt visit, void *data) STORE_CHECK_RESULT;
int store_event_each(store_t *store, uint64_t after,
    store_event_visit_pt visit, void *data) STORE_CHECK_RESULT;
/* A session by its public ref: walks; for tools. */
int store_session_find(store_t *store, const char *ref, size_t n,
    store_session_t *session) STORE_CHECK_RESULT;

/* [reader] */
int store_keys_loaded(store_t *store, uint8_t ids[STORE_SECRETS_MAX],
    unsigned *n, int64_t *when) STORE_CHECK_RESULT;

typedef struct {
    uint8_t   store_id[16];
    uint64_t  sessions;         /* records, tombstones included */
    uint64_t  live;             /* entries of session_by_user */
    uint64_t  users;
    uint64_t  change_first, change_last, change_copied, change_lost;
    uint64_t  events;
    uint64_t  sessions_bytes, events_bytes;     /* pages in use */
    uint64_t  map_bytes;
    unsigned  readers, readers_max;
} store_stat_t;

/* [reader] */
int store_stat(store_t *store, store_stat_t *stat) STORE_CHECK_RESULT;

/* [reader] Does the store answer: one empty read transaction. */
int store_ping(store_t *store) STORE_CHECK_RESULT;

/* Are the files that are open still those at the path, and does nobody want
 * them closed: STORE_OK or STORE_REPLACED.  A dozen system calls, any thread.
 * store_batch_apply() asks by itself. */
int store_watch(store_t *store) STORE_CHECK_RESULT;

/*
 * [reader] Is this a result after which this process can do nothing with the
 * store any more but end: LMDB's fatal error (a meta page could not be
 * written), a reader slot that was given to somebody else, a write lock that
 * nobody can recover, files that were replaced.  Since neither the lock nor the
 * place of the files is this process's alone, the others get STORE_REPLACED
 * from then on where they need to, and store_open() is STORE_BUSY until all of
 * them have ended.
 *
 * STORE_LOST_EVENTS: sessions can be read and changed, only their audit waits;
 * end when it suits.
 */
typedef enum {
    STORE_LOST_NOT = 0,
    STORE_LOST_EVENTS,
    STORE_LOST_ALL
} store_lost_t;

store_lost_t store_lost(store_t *store, int rc);


/* ------------------------------------------------------------ changes --- */

typedef enum {
    STORE_OP_SIGN_IN = 1,
    STORE_OP_TOUCH,
    STORE_OP_END,               /* one, by key */
    STORE_OP_END_REF,           /* one of a user's, by ref */
    STORE_OP_END_OTHERS,        /* a user's, except key */
    STORE_OP_END_ALL,           /* a user's */
    STORE_OP_USER_CREATE,
    STORE_OP_USER_PASSWORD,
    STORE_OP_USER_ROLES,
    STORE_OP_USER_NAME,
    STORE_OP_USER_DISABLE,
    STORE_OP_USER_ENABLE,
    STORE_OP_USER_DELETE,
    STORE_OP_KEYS_LOADED,
    STORE_OP_SWEEP,
    STORE_OP_EVENT              /* straight into the events environment */
} store_op_kind_t;

/*
 * One change.  The caller owns it and everything in it.  `result` is valid
 * once store_batch_apply() has returned, whatever that returned: STORE_OK means
 * committed and synced.
 */
typedef struct {
    store_op_kind_t  kind;
    store_actor_t    actor;
    int64_t          now;
    int              result;                    /* out */
    uint32_t         count;                     /* out: sessions ended, swept */

    uint8_t          user[STORE_USER_BYTES];    /* out for USER_CREATE */
    uint8_t          key[STORE_KEY_BYTES];      /* END: the session.
                                                 * END_OTHERS: the kept one.
                                                 * TOUCH.  SIGN_IN: the new */
    store_end_t      end;                       /* END*: why */
    store_address_t  address;                   /* SIGN_IN, audit of END* */
    store_agent_t    agent;

    /* SIGN_IN.  STORE_EXISTS: key taken, draw again.  STORE_CONFLICT: the
     * user's generation moved.  STORE_DISABLED.  STORE_NOT_FOUND: no user. */
    uint64_t         generation;                /* that was verified; for
                                                 * USER_PASSWORD 0: any */
    uint32_t         idle, lifetime;
    uint32_t         limit;                     /* live sessions per user;
                                                 * 0: the hard bound */
    unsigned         has_old:1;
    uint8_t          old[STORE_KEY_BYTES];      /* ended as REPLACED */
    store_session_t *session;                   /* out, may be NULL */

    /* SIGN_IN (not empty: upgraded hash), USER_CREATE, USER_PASSWORD */
    store_phc_t      phc;

    char             ref[STORE_REF_CHARS + 1];  /* END_REF */

    /* USER_CREATE; ROLES and NAME take theirs */
    store_realm_t    realm;
    store_login_t    login;
    store_name_t     name;
    store_roles_t    roles;

    uint8_t          ids[STORE_SECRETS_MAX];    /* KEYS_LOADED */
    uint32_t         max;                       /* SWEEP: rows looked at;
                                                 * KEYS_LOADED: how many ids */
    /* EVENT: type, reason, time...; with aggregate set, the same type, realm,
     * reason, login, address (IPv4 /32, IPv6 /64) and minute only raises
     * count.  */
    store_event_t   *event;
    unsigned         aggregate:1;
} store_op_t;

/*
 * [writer] Applies n (<= STORE_BATCH_MAX) operations in order in one
 * transaction of the sessions environment, and EVENTs in one of the events
 * environment.  Each operation reads and checks everything before its first
 * put, so a refused one (its result: an expected outcome) leaves the others
 * alone.  On an operating failure the transaction is aborted and each operation
 * retried once in its own.  Returns STORE_OK, or the last operating failure.
 * STORE_REPLACED: none was begun.
 * Over the quota a SIGN_IN or USER_CREATE results in LMDB's map-full code; the
 * others of its batch go on.
 *
 * A TOUCH never creates and never revives: a record that is gone or ended
 * gives STORE_NOT_FOUND or STORE_REVOKED, one that is over at `now`
 * STORE_EXPIRED or STORE_IDLE.  END of an ended session is STORE_NOT_FOUND.  A
 * TOUCH raises seen, never lowers it.
 */
int store_batch_apply(store_t *store, store_op_t **ops, size_t n)
    STORE_CHECK_RESULT;

/* [writer] Copies up to max feed rows into the events environment; *more is
 * set when rows are left.  Idempotent.  Then applies the feed's retention. */
int store_events_copy(store_t *store, size_t max, int *more)
    STORE_CHECK_RESULT;
/* [writer] Drops events older than `before`, at most max rows. */
int store_events_trim(store_t *store, int64_t before, size_t max)
    STORE_CHECK_RESULT;
/* [writer] Frees the reader slots of dead processes. */
int store_reader_check(store_t *store, int *dead) STORE_CHECK_RESULT;
/* [writer] Touches the next 16 MiB of the mapping so that the event loop never
 * meets a cold page.  *at starts at 0; STORE_NOT_FOUND when all is done. */
int store_populate(store_t *store, size_t *at) STORE_CHECK_RESULT;


/* -------------------------------------------------------------- tools --- */

typedef int (*store_problem_pt)(const char *problem, void *data);

/* [reader] Walks everything and reports each broken invariant in words. */
int store_check(store_t *store, store_problem_pt problem, void *data,
    uint64_t *problems) STORE_CHECK_RESULT;

/* JSON lines: {"record":"store","format":1,...} first, then users, sessions,
 * events, and {"record":"end",...} with their numbers.  Password hashes are in
 * it, so a dump is as secret as the store.  STORE_CORRUPT: rows that do not
 * decode were left out.  Progress counts rows.  [reader] */
typedef void (*store_progress_pt)(uint64_t done, void *data);

int store_dump(store_t *store, FILE *out, store_progress_pt progress,
    void *data) STORE_CHECK_RESULT;

#define STORE_RESTORE_SESSIONS  0x01    /* also live sessions */

/* Into an initialised store that nobody else has open (STORE_BUSY) and that
 * holds no users (STORE_EXISTS).  All or nothing.  `why` names the line.  Its
 * events are replaced.  A live session whose user is not in the dump, is
 * disabled or has another generation is left out. */
int store_restore(const store_options_t *options, FILE *in, unsigned flags,
    store_progress_pt progress, void *data, char why[STORE_WHY_CHARS])
    STORE_CHECK_RESULT;

/* [reader] Compacting copy of sessions.v1.mdb (or events) to an open file,
 * synced.  Such a copy in an empty directory becomes a store again with
 * store_init(), which adds what is missing. */
int store_backup(store_t *store, int events, int fd) STORE_CHECK_RESULT;


#endif /* STORE_H_INCLUDED */
