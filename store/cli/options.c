#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "duration.h"
#include "options.h"


typedef struct {
    const char  *name;
    unsigned     bit;
} cli_common_t;

static const cli_common_t  cli_common[] = {
    { "store", CLI_TAKES_STORE },
    { "realm", CLI_TAKES_REALM },
    { "json", CLI_TAKES_JSON },
    { "progress", CLI_TAKES_PROGRESS },
    { NULL, 0 }
};

/* One option as it stands on the command line. */
typedef struct {
    const char  *name;
    size_t       len;
    const char  *value;         /* NULL: none yet */
    int          used;          /* elements of argv */
} cli_given_t;


static void cli_given(cli_given_t *given, char **argv);
static int cli_given_value(cli_t *cli, cli_given_t *given, int argc,
    char **argv);
static int cli_given_is(const cli_given_t *given, const char *name);
static int cli_ref_expected(const char *form, const char *text);
static int cli_common_check(cli_t *cli, int rc);
static int cli_common_read(cli_t *cli, cli_given_t *given, int argc,
    char **argv);
static int cli_own_read(cli_t *cli, const cli_option_t *option,
    cli_given_t *given, int argc, char **argv);
static int cli_number(const char *text, uint32_t *number);
static int cli_words_check(cli_t *cli, const char *form, int n);
static const char *cli_word_name(const char *form, int i, size_t *len);


int
cli_usage(const cli_t *cli, const char *fmt, ...)
{
    va_list  args;

    (void) fprintf(stderr, "sessionctl");

    if (cli->noun) {
        (void) fprintf(stderr, " %s", cli->noun->name);
    }

    if (cli->command) {
        (void) fprintf(stderr, " %s", cli->command->name);
    }

    (void) fprintf(stderr, ": ");

    va_start(args, fmt);
    (void) vfprintf(stderr, fmt, args);
    va_end(args);

    (void) fprintf(stderr, "; see sessionctl%s%s%s%s -h\n",
                   cli->noun ? " " : "", cli->noun ? cli->noun->name : "",
                   cli->command ? " " : "",
                   cli->command ? cli->command->name : "");

    return CLI_USAGE;
}


int
cli_options_leading(cli_t *cli, int argc, char **argv, int *help)
{
    int          i;
    cli_given_t  given;

    *help = 0;

    for (i = 0; i < argc && argv[i][0] == '-'; i += given.used) {
        if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0) {
            *help = 1;
            return i;
        }

        cli_given(&given, argv + i);

        switch (cli_common_read(cli, &given, argc - i, argv + i)) {

        case CLI_OK:
            break;

        case CLI_NOT_FOUND:
            (void) cli_usage(cli, "unknown option %s", argv[i]);
            return -1;

        default:
            return -1;
        }
    }

    return i;
}


int
cli_options(cli_t *cli, int argc, char **argv, const cli_option_t *options,
    const char *form, const char *words[CLI_WORDS_MAX])
{
    int                  i, n, rc, ended;
    cli_given_t          given;
    const cli_option_t  *option;

    n = 0;
    ended = 0;
    memset(words, 0, CLI_WORDS_MAX * sizeof(words[0]));

    for (i = 0; i < argc; i += given.used) {
        given.used = 1;

        if (!ended && strcmp(argv[i], "--") == 0) {
            ended = 1;
            continue;
        }

        if (ended || argv[i][0] != '-' || argv[i][1] == '\0') {
            if (n == CLI_WORDS_MAX) {
                return cli_usage(cli, "too many words: \"%s\"", argv[i]);
            }

            words[n++] = argv[i];
            continue;
        }

        cli_given(&given, argv + i);

        for (option = options; option && option->name; option++) {
            if (cli_given_is(&given, option->name)) {
                break;
            }
        }

        if (option && option->name) {
            rc = cli_own_read(cli, option, &given, argc - i, argv + i);

        } else {
            rc = cli_common_read(cli, &given, argc - i, argv + i);
        }

        if (rc == CLI_NOT_FOUND && n < CLI_WORDS_MAX
            && cli_ref_expected(form, argv[i]))
        {
            words[n++] = argv[i];
            continue;
        }

        if (rc == CLI_NOT_FOUND) {
            return cli_usage(cli, "unknown option %s", argv[i]);
        }

        if (rc != CLI_OK) {
            return rc;
        }
    }

    return cli_common_check(cli, cli_words_check(cli, form, n));
}


/* The ref of one session in 64 begins with a dash. */
static int
cli_ref_expected(const char *form, const char *text)
{
    uint8_t  ref[STORE_REF_BYTES];

    return strstr(form, "REF") != NULL
           && store_base64url_decode(text, strlen(text), ref, sizeof(ref))
              == STORE_OK;
}


static int
cli_common_check(cli_t *cli, int rc)
{
    const cli_common_t  *common;

    for (common = cli_common; rc == CLI_OK && common->name; common++) {
        if (cli->given & common->bit & ~cli->command->takes) {
            rc = cli_usage(cli, "--%s has no meaning here", common->name);
        }
    }

    return rc;
}


static void
cli_given(cli_given_t *given, char **argv)
{
    const char  *equals;

    /* a single dash leaves a name that no option has */

    given->name = strncmp(argv[0], "--", 2) == 0 ? argv[0] + 2 : "";
    given->len = strlen(given->name);
    given->value = NULL;
    given->used = 1;

    equals = strchr(given->name, '=');

    if (equals) {
        given->len = (size_t) (equals - given->name);
        given->value = equals + 1;
    }
}


static int
cli_given_is(const cli_given_t *given, const char *name)
{
    return strlen(name) == given->len
           && memcmp(name, given->name, given->len) == 0;
}


static int
cli_given_value(cli_t *cli, cli_given_t *given, int argc, char **argv)
{
    if (given->value) {
        return CLI_OK;
    }

    if (argc < 2) {
        return cli_usage(cli, "%s needs a value", argv[0]);
    }

    given->value = argv[1];
    given->used = 2;

    return CLI_OK;
}


/* CLI_NOT_FOUND: no common option. */
static int
cli_common_read(cli_t *cli, cli_given_t *given, int argc, char **argv)
{
    int                  rc;
    const cli_common_t  *common;

    for (common = cli_common; common->name; common++) {
        if (cli_given_is(given, common->name)) {
            break;
        }
    }

    if (common->name == NULL) {
        return CLI_NOT_FOUND;
    }

    cli->given |= common->bit;

    if (common->bit & (CLI_TAKES_JSON|CLI_TAKES_PROGRESS)) {
        if (given->value) {
            return cli_usage(cli, "--%s takes no value", common->name);
        }

        if (common->bit == CLI_TAKES_JSON) {
            cli->json = 1;

        } else {
            cli->progress = 1;
        }

        return CLI_OK;
    }

    rc = cli_given_value(cli, given, argc, argv);

    if (rc != CLI_OK) {
        return rc;
    }

    if (common->bit == CLI_TAKES_STORE) {
        cli->store = given->value;
        return CLI_OK;
    }

    if (store_realm_set(&cli->realm, given->value, strlen(given->value))
        != STORE_OK)
    {
        return cli_usage(cli, "realm \"%s\" is not 1 to %d of a-z, 0-9, \"_\", "
                         "\".\" and \"-\"", given->value, STORE_REALM_MAX);
    }

    return CLI_OK;
}


static int
cli_own_read(cli_t *cli, const cli_option_t *option, cli_given_t *given,
    int argc, char **argv)
{
    int  rc;

    if (option->kind == CLI_FLAG) {
        if (given->value) {
            return cli_usage(cli, "--%s takes no value", option->name);
        }

        *(int *) option->value = 1;
        return CLI_OK;
    }

    rc = cli_given_value(cli, given, argc, argv);

    if (rc != CLI_OK) {
        return rc;
    }

    switch (option->kind) {

    case CLI_NUMBER:
        if (!cli_number(given->value, option->value)) {
            return cli_usage(cli, "--%s: \"%s\" is no number", option->name,
                             given->value);
        }

        return CLI_OK;

    case CLI_DURATION:
        if (!cli_duration_read(given->value, option->value)) {
            return cli_usage(cli, "--%s: \"%s\" is no time; write 90s, 10m, "
                             "12h, 7d or 2w", option->name, given->value);
        }

        return CLI_OK;

    default: /* CLI_TEXT */
        *(const char **) option->value = given->value;
        return CLI_OK;
    }
}


static int
cli_number(const char *text, uint32_t *number)
{
    char           *end;
    unsigned long   n;

    if (*text < '0' || *text > '9') {
        return 0;
    }

    errno = 0;
    n = strtoul(text, &end, 10);

    if (errno || *end || n > UINT32_MAX) {
        return 0;
    }

    *number = (uint32_t) n;

    return 1;
}


static int
cli_words_check(cli_t *cli, const char *form, int n)
{
    int          i;
    size_t       len;
    const char  *name;

    for (i = 0; /* void */; i++) {
        name = cli_word_name(form, i, &len);

        if (name == NULL) {
            break;
        }

        if (i >= n && *name != '[') {
            return cli_usage(cli, "%.*s is missing", (int) len, name);
        }
    }

    if (n > i) {
        return cli_usage(cli, i ? "there is a word too many"
                                : "no words are expected");
    }

    return CLI_OK;
}


static const char *
cli_word_name(const char *form, int i, size_t *len)
{
    while (i-- && *form) {
        form += strcspn(form, " ");
        form += strspn(form, " ");
    }

    *len = strcspn(form, " ");

    return *form ? form : NULL;
}
