/*
 * limits.h: every size the store and its records promise, in one place.
 *
 * Sizes are bytes without a terminating NUL unless the name says CHARS (of
 * base64url or other text).  A record that holds more is refused when it is
 * written and reported as STORE_CORRUPT when it is read.
 */

#ifndef STORE_LIMITS_H_INCLUDED
#define STORE_LIMITS_H_INCLUDED


/* strings in records; header-safe text, see store_text_valid() */
#define STORE_REALM_MAX        32
#define STORE_LOGIN_MAX        128
#define STORE_NAME_MAX         128
#define STORE_ROLES_MAX        256     /* "admin,auditor", sorted, no spaces */
#define STORE_ROLE_MAX         32
#define STORE_ADDRESS_MAX      45      /* INET6_ADDRSTRLEN - 1 */
#define STORE_AGENT_MAX        256     /* User-Agent, cut there */
#define STORE_PHC_MAX          192     /* $argon2id$v=19$m=..$salt$tag */

/* passwords as received; libsodium takes more, nobody types more */
#define STORE_PASSWORD_MAX     1024

/* identifiers */
#define STORE_USER_BYTES       8
#define STORE_KEY_BYTES        16      /* time (4, BE) + SHA-256(id)[0..12) */
#define STORE_REF_CHARS        12      /* base64url of the key's last 9 bytes */
#define STORE_REF_BYTES        9

/* the cookie: key id (1) + id (21: time 4, random 17) + HMAC-SHA-256 (32) */
#define STORE_ID_BYTES         21
#define STORE_ID_RANDOM_BYTES  17
#define STORE_MAC_BYTES        32
#define STORE_TOKEN_BYTES      54
#define STORE_TOKEN_CHARS      72

/* CSRF: mask (32) + HMAC under the mask (32), base64url without padding */
#define STORE_CSRF_BYTES       64
#define STORE_CSRF_CHARS       86

/* pre-session and device cookies: data + HMAC, base64url without padding */
#define STORE_PRE_ID_BYTES     16
#define STORE_PRE_CHARS        66      /* key id (1) + 16 + 32 = 49 */
#define STORE_DEVICE_CHARS     55      /* key id (1) + user (8) + 32 = 41 */
#define STORE_SIGNED_MAX       192     /* data of any signed value */

/* keys file */
#define STORE_SECRETS_MAX      8       /* lines */
#define STORE_SECRET_MIN       32
#define STORE_SECRET_MAX       128
#define STORE_KEYS_FILE_MAX    4096

/* life of sessions */
#define STORE_USER_SESSIONS_MAX  64        /* hard bound of session_limit */
#define STORE_LIFETIME_MAX     34560000    /* 400 days, RFC 6265bis */
#define STORE_FUTURE_SECONDS   300         /* clock steps back this far */
#define STORE_TOMBSTONE_SECONDS  86400     /* after expiry */

/* argon2id: floor and cap for stored parameters */
#define STORE_ARGON2_MEMORY_MIN  8192      /* KiB; cap of what is verified */
#define STORE_ARGON2_MEMORY_MAX  1048576   /* KiB */
#define STORE_ARGON2_PASSES_MAX  16
#define STORE_SALT_BYTES       16
#define STORE_TAG_BYTES        32

/* LMDB; the last two are constants of format 1, never change them */
#define STORE_FORMAT           1
#define STORE_READERS_MAX      1022
#ifndef STORE_MAP_SIZE
#define STORE_MAP_SIZE         ((size_t) 64 << 30)  /* valgrind's builds
                                                     * define less: it cannot
                                                     * map as much */
#endif

/* change feed and events */
#define STORE_CHANGE_KEEP      1000000     /* copied rows kept */
#define STORE_CHANGE_HARD_MAX  4000000     /* uncopied rows, then lost++ */
#define STORE_CHANGE_BYTES     256         /* of a row, in its page */
#define STORE_EVENT_KEEP       7776000     /* seconds: 90 days */
#define STORE_EVENT_BODY_MAX   65536

/* one batch */
#define STORE_BATCH_MAX        256


_Static_assert(STORE_TOKEN_BYTES == 1 + STORE_ID_BYTES + STORE_MAC_BYTES,
               "token layout");
_Static_assert(STORE_TOKEN_CHARS * 3 == STORE_TOKEN_BYTES * 4,
               "a token is a whole number of base64 groups");
_Static_assert(STORE_REF_CHARS * 3 == STORE_REF_BYTES * 4, "ref layout");


#endif /* STORE_LIMITS_H_INCLUDED */
