/*
 * ngx_http_session_hash_job.c: one password to verify, and the thread that
 * does it.
 */


#include "ngx_http_session_hash_job.h"

#if (NGX_LINUX)
#include <sys/syscall.h>
#endif


#define NGX_HTTP_SESSION_HASH_NICE           10
#define NGX_HTTP_SESSION_HASH_SLICE          100000000      /* ns, the most */


static void ngx_http_session_hash_thread(void *data, ngx_log_t *log);
static void ngx_http_session_hash_nice(void);


#if (NGX_LINUX)

#define NGX_HTTP_SESSION_HASH_KEEP_POLICY    0x08

/* As sched_setattr(2) has it in its first version; libcs before 2.41 do not. */
typedef struct {
    uint32_t  size;
    uint32_t  policy;
    uint64_t  flags;
    int32_t   nice;
    uint32_t  priority;
    uint64_t  runtime;
    uint64_t  deadline;
    uint64_t  period;
} ngx_http_session_hash_sched_t;

#endif


ngx_http_session_hash_job_t *
ngx_http_session_hash_create(ngx_str_t *phc, ngx_str_t *password,
    ngx_uint_t nice, ngx_log_t *log)
{
    u_char                       *p;
    ngx_http_session_hash_job_t  *job;

    job = ngx_alloc(sizeof(ngx_http_session_hash_job_t) + phc->len
                    + password->len, log);
    if (job == NULL) {
        return NULL;
    }

    ngx_memzero(job, sizeof(ngx_http_session_hash_job_t));

    p = (u_char *) (job + 1);

    job->phc.data = p;
    job->phc.len = phc->len;

    if (phc->len) {
        p = ngx_cpymem(p, phc->data, phc->len);
    }

    job->password.data = p;
    job->password.len = password->len;

    if (password->len) {
        ngx_memcpy(p, password->data, password->len);
    }

    job->upgraded.data = job->buffer;
    job->nice = nice;

    job->task.handler = ngx_http_session_hash_thread;
    job->task.ctx = job;
    job->task.event.data = job;
    job->task.event.log = log;

    return job;
}


void
ngx_http_session_hash_free(ngx_http_session_hash_job_t *job)
{
    ngx_http_session_wipe(job->password.data, job->password.len);
    ngx_free(job);
}


static void
ngx_http_session_hash_thread(void *data, ngx_log_t *log)
{
    ngx_http_session_hash_job_t *job = data;

    struct timespec  before, after;

    if (!ngx_atomic_cmp_set(&job->state, NGX_HTTP_SESSION_HASH_POSTED,
                            NGX_HTTP_SESSION_HASH_STARTED))
    {
        return;
    }

    if (job->nice) {
        ngx_http_session_hash_nice();
    }

    (void) clock_gettime(CLOCK_MONOTONIC, &before);

    job->result = ngx_http_session_password_thread(&job->phc, &job->password,
                                                   &job->upgraded);

    (void) clock_gettime(CLOCK_MONOTONIC, &after);

    ngx_http_session_wipe(job->password.data, job->password.len);

    job->elapsed = (ngx_msec_t) (after.tv_sec - before.tv_sec) * 1000
                   + (after.tv_nsec - before.tv_nsec) / 1000000;
}


/*
 * Linux has priorities per thread; elsewhere this would be the process.  A long
 * slice is what lets others in at once: since Linux 6.12 whoever wakes up with
 * a shorter one need not wait for the end of ours, nor for a tick of the clock.
 * Older kernels leave it unread.
 *
 * That it is done is not remembered in a variable of the thread: glibc
 * allocates these when they are first used, and aborts where there is no
 * memory.
 */

static void
ngx_http_session_hash_nice(void)
{
#if (NGX_LINUX)

    ngx_http_session_hash_sched_t  sched;

    ngx_memzero(&sched, sizeof(ngx_http_session_hash_sched_t));

    sched.size = sizeof(ngx_http_session_hash_sched_t);
    sched.flags = NGX_HTTP_SESSION_HASH_KEEP_POLICY;
    sched.nice = NGX_HTTP_SESSION_HASH_NICE;
    sched.runtime = NGX_HTTP_SESSION_HASH_SLICE;

    if (syscall(SYS_sched_setattr, 0, &sched, 0) == -1) {
        (void) setpriority(PRIO_PROCESS, (id_t) syscall(SYS_gettid),
                           NGX_HTTP_SESSION_HASH_NICE);
    }

#endif
}
