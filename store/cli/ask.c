#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "ask.h"
#include "options.h"
#include "output.h"


/* one byte more shows that a line is too long, another is for its NUL */
#define CLI_LINE_BYTES  (STORE_PASSWORD_MAX + 2)

typedef struct {
    size_t  len;
    char    data[CLI_LINE_BYTES];
} cli_line_t;


static int cli_ask_stdin(cli_line_t *line);
static int cli_ask_terminal(const char *login, cli_line_t *line);
static int cli_ask_twice(int fd, int stop, const char *login,
    cli_line_t *line);
static int cli_ask_once(int fd, int stop, const char *prompt,
    const char *login, cli_line_t *line);
static int cli_ask_line(int fd, int stop, cli_line_t *line);
static int cli_ask_length(const cli_line_t *line, uint32_t min);
static int cli_ask_hash(const void *password, size_t n, store_phc_t *phc);


int
cli_ask_check(const cli_t *cli, const cli_ask_t *ask)
{
    if (ask->generate && ask->from_stdin) {
        return cli_usage(cli, "--generate and --stdin exclude one another");
    }

    if (ask->min < CLI_PASSWORD_MIN_MIN || ask->min > STORE_PASSWORD_MAX) {
        return cli_usage(cli, "--min is %d to %d", CLI_PASSWORD_MIN_MIN,
                         STORE_PASSWORD_MAX);
    }

    return CLI_OK;
}


int
cli_ask(const char *login, cli_ask_t *ask, store_phc_t *phc)
{
    int         rc;
    cli_line_t  line;

    if (ask->generate) {
        rc = store_password_random(ask->generated);

        if (rc != STORE_OK) {
            return cli_refuse(rc, "no password could be drawn");
        }

        return cli_ask_hash(ask->generated, STORE_GENERATED_CHARS, phc);
    }

    rc = ask->from_stdin ? cli_ask_stdin(&line)
                         : cli_ask_terminal(login, &line);

    if (rc == CLI_OK) {
        rc = cli_ask_length(&line, ask->min);
    }

    if (rc == CLI_OK) {
        rc = cli_ask_hash(line.data, line.len, phc);
    }

    store_wipe(&line, sizeof(line));

    return rc;
}


static int
cli_ask_stdin(cli_line_t *line)
{
    int  rc;

    rc = cli_ask_line(STDIN_FILENO, -1, line);

    if (rc == CLI_OK && line->len == 0) {
        cli_error("there is no password on stdin");
        return CLI_FAILED;
    }

    return rc;
}


/*
 * Signals of the terminal are off while nothing is echoed, so no way out
 * leaves the terminal mute.  Ctrl-C arrives as a character, and ends the line
 * so that it arrives at once.
 */
static int
cli_ask_terminal(const char *login, cli_line_t *line)
{
    int             fd, rc;
    struct termios  before, mute;

    line->len = 0;

    fd = open("/dev/tty", O_RDWR|O_CLOEXEC);

    if (fd == -1 || tcgetattr(fd, &before) == -1) {
        cli_error("there is no terminal to ask for a password; say --stdin "
                  "or --generate");

        if (fd != -1) {
            (void) close(fd);
        }

        return CLI_FAILED;
    }

    mute = before;
    mute.c_lflag &= (tcflag_t) ~(ECHO|ISIG);
    mute.c_cc[VEOL] = before.c_cc[VINTR];

    if (tcsetattr(fd, TCSAFLUSH, &mute) == -1) {
        rc = cli_refuse(errno, "the terminal cannot be muted");

    } else {
        rc = cli_ask_twice(fd, before.c_cc[VINTR], login, line);
        (void) tcsetattr(fd, TCSAFLUSH, &before);
    }

    (void) close(fd);

    return rc;
}


static int
cli_ask_twice(int fd, int stop, const char *login, cli_line_t *line)
{
    int         rc;
    cli_line_t  again;

    rc = cli_ask_once(fd, stop, "Password for ", login, line);

    if (rc != CLI_OK) {
        return rc;
    }

    rc = cli_ask_once(fd, stop, "The same again for ", login, &again);

    if (rc == CLI_OK && (again.len != line->len
                         || !store_equal(again.data, line->data, line->len)))
    {
        cli_error("the two passwords differ");
        rc = CLI_FAILED;
    }

    store_wipe(&again, sizeof(again));

    return rc;
}


static int
cli_ask_once(int fd, int stop, const char *prompt, const char *login,
    cli_line_t *line)
{
    int  rc;

    line->len = 0;

    if (dprintf(fd, "%s%s: ", prompt, login) < 0) {
        return cli_refuse(errno, "the terminal cannot be written");
    }

    rc = cli_ask_line(fd, stop, line);

    (void) dprintf(fd, "\n");

    if (rc == CLI_OK && memchr(line->data, stop, line->len)) {
        cli_error("given up");
        return CLI_FAILED;
    }

    return rc;
}


/* By bytes and without stdio, whose buffers nobody wipes.  Ends behind the
 * character `stop`, too, unless that is -1. */
static int
cli_ask_line(int fd, int stop, cli_line_t *line)
{
    char     c;
    ssize_t  n;

    line->len = 0;

    for ( ;; ) {
        n = read(fd, &c, 1);

        if (n == -1 && errno == EINTR) {
            continue;
        }

        if (n == -1) {
            return cli_refuse(errno, "the password cannot be read");
        }

        if (n == 0 || c == '\n') {
            break;
        }

        line->data[line->len++] = c;

        if ((unsigned char) c == stop) {
            break;
        }

        if (line->len > STORE_PASSWORD_MAX) {
            cli_error("the password is longer than %d bytes",
                      STORE_PASSWORD_MAX);
            return CLI_FAILED;
        }
    }

    store_wipe(&c, 1);

    return CLI_OK;
}


/* Characters are counted, not bytes: UTF-8's continuation bytes are left
 * out. */
static int
cli_ask_length(const cli_line_t *line, uint32_t min)
{
    size_t    i;
    uint32_t  n;

    for (i = 0, n = 0; i < line->len; i++) {
        n += (line->data[i] & 0xc0) != 0x80;
    }

    if (n < min) {
        cli_error("the password is shorter than %lu characters",
                  (unsigned long) min);
        return CLI_FAILED;
    }

    return CLI_OK;
}


static int
cli_ask_hash(const void *password, size_t n, store_phc_t *phc)
{
    int                  rc;
    uint8_t              salt[STORE_SALT_BYTES];
    store_hash_params_t  params;

    params.memory = STORE_HASH_DEFAULT_MEMORY;
    params.passes = STORE_HASH_DEFAULT_PASSES;

    rc = store_random(salt, sizeof(salt));

    if (rc == STORE_OK) {
        rc = store_password_hash(&params, password, n, salt, phc);
    }

    if (rc != STORE_OK) {
        return cli_refuse(rc, "the password could not be hashed");
    }

    return CLI_OK;
}
