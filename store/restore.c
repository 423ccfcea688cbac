#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "open.h"
#include "restore.h"


#define STORE_RESTORE_PROGRESS  1000


static void store_restore_why(const store_restore_t *restore, int rc,
    const char *path, char *why);
static int store_restore_into(store_t *store, store_restore_t *restore,
    FILE *in, store_progress_pt progress, void *data);
static int store_restore_begin(store_t *store, store_restore_t *restore);
static int store_restore_commit(store_restore_t *restore);
static int store_restore_lines(store_restore_t *restore, FILE *in,
    store_progress_pt progress, void *data);
static int store_restore_line(store_restore_t *restore, FILE *in,
    char *line, size_t *n);
static int store_restore_empty(store_restore_t *restore);


int
store_restore(const store_options_t *options, FILE *in, unsigned flags,
    store_progress_pt progress, void *data, char why[STORE_WHY_CHARS])
{
    int               rc, lock;
    store_t          *store;
    store_place_t     place;
    store_restore_t  *restore;

    why[0] = '\0';

    rc = store_place_open(&place, options->path, why);
    if (rc != STORE_OK) {
        return rc;
    }

    restore = calloc(1, sizeof(store_restore_t));
    if (restore == NULL) {
        store_why(why, place.path, "%s", store_strerror(ENOMEM));
        rc = ENOMEM;
        goto done;
    }

    restore->flags = flags;

    rc = store_place_check(&place, why);
    if (rc != STORE_OK) {
        goto done;
    }

    rc = store_place_enter(&place, 0, options->wait_ms, &lock, why);
    if (rc != STORE_OK) {
        goto done;
    }

    rc = store_open_entered(&place, options, 1, &store, why);

    /* who comes now finds the owner file taken, and is told so */

    (void) close(lock);

    if (rc != STORE_OK) {
        goto done;
    }

    rc = store_restore_into(store, restore, in, progress, data);

    store_abandon(store);

    if (rc != STORE_OK) {
        store_restore_why(restore, rc, place.path, why);
    }

done:

    /* it may have held password hashes */

    if (restore) {
        store_wipe(restore, sizeof(store_restore_t));
        free(restore);
    }

    store_place_close(&place);

    return rc;
}


static void
store_restore_why(const store_restore_t *restore, int rc, const char *path,
    char *why)
{
    const char  *wrong;

    wrong = restore->wrong ? restore->wrong : store_strerror(rc);

    if (restore->line) {
        store_why(why, path, "line %llu: %s",
                  (unsigned long long) restore->line, wrong);

    } else {
        store_why(why, path, "%s", wrong);
    }
}


static int
store_restore_into(store_t *store, store_restore_t *restore, FILE *in,
    store_progress_pt progress, void *data)
{
    int  rc;

    rc = store_restore_begin(store, restore);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_restore_empty(restore);

    if (rc == STORE_OK) {
        rc = store_restore_lines(restore, in, progress, data);
    }

    if (rc != STORE_OK) {
        mdb_txn_abort(restore->events_w.txn);
        mdb_txn_abort(restore->sessions_w.txn);
        return rc;
    }

    return store_restore_commit(restore);
}


static int
store_restore_begin(store_t *store, store_restore_t *restore)
{
    int             rc;
    store_write_t  *w;

    w = &restore->sessions_w;
    w->store = store;
    w->env = store->sessions;
    w->db = store->sessions->db;

    rc = store_write_begin(w->env, &w->txn);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_db_last(w->txn, w->db[STORE_CHANGE], &w->last);

    if (rc == STORE_OK) {
        rc = store_events_begin(store, &restore->events_w);
    }

    if (rc != STORE_OK) {
        mdb_txn_abort(w->txn);
    }

    return rc;
}


/*
 * Two environments, two commits.  The events go first: should the second fail,
 * there are no users and the restore can be run again, which replaces them.
 */
static int
store_restore_commit(store_restore_t *restore)
{
    int            rc;
    store_event_t  event;

    memset(&event, 0, sizeof(store_event_t));
    event.type = STORE_EVENT_RESTORED;
    event.actor = STORE_BY_CLI;
    event.time = restore->newest;
    event.count = 1;

    rc = store_change_put(&restore->sessions_w, &event);

    if (rc != STORE_OK) {
        mdb_txn_abort(restore->events_w.txn);
        mdb_txn_abort(restore->sessions_w.txn);
        return rc;
    }

    rc = store_events_commit(&restore->events_w);

    if (rc != STORE_OK) {
        mdb_txn_abort(restore->sessions_w.txn);
        return rc;
    }

    return mdb_txn_commit(restore->sessions_w.txn);
}


/* No users yet, and the events of an earlier attempt out of the way. */
static int
store_restore_empty(store_restore_t *restore)
{
    int             rc;
    uint64_t        users;
    store_write_t  *w;

    w = &restore->sessions_w;

    rc = store_env_entries(w->txn, w->db[STORE_USER], &users);
    if (rc != STORE_OK) {
        return rc;
    }

    if (users) {
        restore->wrong = "there are users already; restore into a new store";
        return STORE_EXISTS;
    }

    w = &restore->events_w;

    rc = mdb_drop(w->txn, w->db[STORE_EVENT], 0);

    if (rc == 0) {
        rc = mdb_drop(w->txn, w->db[STORE_EVENT_BY_USER], 0);
    }

    if (rc == 0) {
        rc = mdb_drop(w->txn, w->db[STORE_EVENT_BY_TIME], 0);
    }

    if (rc == 0) {
        rc = mdb_drop(w->txn, w->db[STORE_EVENT_BY_GROUP], 0);
    }

    return rc;
}


static int
store_restore_lines(store_restore_t *restore, FILE *in,
    store_progress_pt progress, void *data)
{
    int     rc;
    char   *line;
    size_t  n;

    line = malloc(STORE_JSON_LINE_MAX + 1);
    if (line == NULL) {
        return ENOMEM;
    }

    for ( ;; ) {
        rc = store_restore_line(restore, in, line, &n);

        if (rc == STORE_NOT_FOUND) {
            rc = STORE_OK;
            break;
        }

        if (rc == STORE_OK) {
            rc = store_restore_row(restore, line, n);
        }

        if (rc != STORE_OK) {
            break;
        }

        if (progress && restore->line % STORE_RESTORE_PROGRESS == 0) {
            progress(restore->line, data);
        }
    }

    store_wipe(line, STORE_JSON_LINE_MAX + 1);
    free(line);

    if (rc == STORE_OK && !restore->ended) {
        restore->wrong = "the dump is cut off: it has no end line";
        return STORE_MALFORMED;
    }

    if (rc == STORE_OK && progress) {
        progress(restore->line, data);
    }

    return rc;
}


/* One line without its newline; STORE_NOT_FOUND at the end.  A last line
 * without one was cut off. */
static int
store_restore_line(store_restore_t *restore, FILE *in, char *line, size_t *n)
{
    int  c;

    restore->line++;
    *n = 0;

    for ( ;; ) {
        c = getc_unlocked(in);

        if (c == '\n') {
            return STORE_OK;
        }

        if (c == EOF) {

            if (ferror(in)) {
                return errno ? errno : EIO;
            }

            if (*n == 0) {
                restore->line--;
                return STORE_NOT_FOUND;
            }

            restore->wrong = "the line is cut off";
            return STORE_MALFORMED;
        }

        if (*n > STORE_JSON_LINE_MAX - 1) {
            restore->wrong = "the line is too long";
            return STORE_LIMIT;
        }

        line[(*n)++] = (char) c;
    }
}
