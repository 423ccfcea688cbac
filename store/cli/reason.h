/*
 * reason.h: decisions in words that an operator on call understands.
 */

#ifndef CLI_REASON_H_INCLUDED
#define CLI_REASON_H_INCLUDED


#include "cli.h"


#define CLI_REASON_CHARS  512


/* What a request with this session gets in a realm; a code of
 * store_session_judge(), and the reason as a sentence. */
int cli_reason(const store_session_t *session, const store_realm_t *realm,
    int64_t now, char text[CLI_REASON_CHARS]);

/* What to do about it. */
const char *cli_reason_advice(int judged);

/* Whether a user can sign in. */
const char *cli_reason_user(const store_user_t *user);

/* One line of the audit. */
void cli_reason_event(const store_event_t *event,
    char text[CLI_REASON_CHARS]);


#endif /* CLI_REASON_H_INCLUDED */
