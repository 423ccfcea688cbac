/*
 * show.h: users and sessions as text and as JSON, the same wherever they
 * appear.
 */

#ifndef CLI_SHOW_H_INCLUDED
#define CLI_SHOW_H_INCLUDED


#include "cli.h"
#include "json.h"


/* What a decision in the session's own realm would be now. */
int cli_session_judge(const store_session_t *session, int64_t now);

/* The word for it, as $session_status has it. */
const char *cli_session_status(int judged);

void cli_session_json(cli_json_t *json, const char *key,
    const store_session_t *session, int64_t now);
void cli_user_json(cli_json_t *json, const char *key,
    const store_user_t *user);

void cli_session_head(void);
void cli_session_row(const store_session_t *session, int64_t now);
/* All of one, a line for each member. */
void cli_session_lines(const store_session_t *session, int64_t now);
void cli_user_lines(const store_user_t *user);

/* "name:     text" */
void cli_line(const char *name, const char *text);


#endif /* CLI_SHOW_H_INCLUDED */
