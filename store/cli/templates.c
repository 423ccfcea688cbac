#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "html.h"
#include "json.h"
#include "options.h"
#include "output.h"


const char  cli_templates_help[] =
    "usage: sessionctl templates DIR [--json]\n"
    "\n"
    "Writes the built-in pages, styles and pictures into DIR, which is made\n"
    "if it is missing.  Name it in session_templates, change what you like\n"
    "and delete the rest: a file that is not there is taken from the module.\n"
    "Nothing is written when a file of one of the names is there already.\n";


/* as Linux bounds a path, NUL included */
#define CLI_PATH_CHARS  4096


static int cli_templates_path(char path[CLI_PATH_CHARS], const char *dir,
    const char *name);
static int cli_templates_free(const char *dir);
static int cli_templates_dirs(const char *path);
static int cli_templates_write(const char *dir, const session_html_t *html);


int
cli_templates(cli_t *cli, int argc, char **argv)
{
    int                    rc;
    unsigned               n;
    cli_json_t             json;
    const char            *words[CLI_WORDS_MAX];
    const session_html_t  *html;

    rc = cli_options(cli, argc, argv, NULL, "DIR", words);

    if (rc != CLI_OK) {
        return rc;
    }

    if (mkdir(words[0], 0755) == -1 && errno != EEXIST) {
        return cli_refuse(errno, "\"%s\"", words[0]);
    }

    rc = cli_templates_free(words[0]);

    for (html = session_html, n = 0; rc == CLI_OK && html->name; html++, n++) {
        rc = cli_templates_write(words[0], html);
    }

    if (rc != CLI_OK) {
        return rc;
    }

    if (!cli->json) {
        (void) printf("%u files written to \"%s\"\n", n, words[0]);
        return CLI_OK;
    }

    cli_json_begin(&json);
    cli_json_object(&json, NULL);
    cli_json_text(&json, "directory", words[0], strlen(words[0]));
    cli_json_array(&json, "files");

    for (html = session_html; html->name; html++) {
        cli_json_text(&json, NULL, html->name, strlen(html->name));
    }

    cli_json_end(&json, ']');
    cli_json_end(&json, '}');

    return CLI_OK;
}


static int
cli_templates_path(char path[CLI_PATH_CHARS], const char *dir,
    const char *name)
{
    int  n;

    n = snprintf(path, CLI_PATH_CHARS, "%s/%s", dir, name);

    if (n < 0 || n >= CLI_PATH_CHARS) {
        return cli_refuse(ENAMETOOLONG, "\"%s\"", dir);
    }

    return CLI_OK;
}


/* Half a set of one version over half a set of another helps nobody. */
static int
cli_templates_free(const char *dir)
{
    int                    rc;
    char                   path[CLI_PATH_CHARS];
    struct stat            st;
    const session_html_t  *html;

    for (html = session_html; html->name; html++) {
        rc = cli_templates_path(path, dir, html->name);

        if (rc != CLI_OK) {
            return rc;
        }

        if (lstat(path, &st) == 0) {
            cli_error("\"%s\" is there already; nothing is written", path);
            return CLI_FAILED;
        }
    }

    return CLI_OK;
}


/* The folders between dir and the file. */
static int
cli_templates_dirs(const char *path)
{
    char   dir[CLI_PATH_CHARS];
    char  *slash;

    memcpy(dir, path, strlen(path) + 1);

    for (slash = strchr(dir + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';

        if (mkdir(dir, 0755) == -1 && errno != EEXIST) {
            return errno;
        }

        *slash = '/';
    }

    return 0;
}


static int
cli_templates_write(const char *dir, const session_html_t *html)
{
    int            fd, rc;
    char           path[CLI_PATH_CHARS];
    ssize_t        n;
    unsigned long  done;

    rc = cli_templates_path(path, dir, html->name);

    if (rc != CLI_OK) {
        return rc;
    }

    rc = cli_templates_dirs(path);

    if (rc != 0) {
        return cli_refuse(rc, "\"%s\"", path);
    }

    fd = open(path, O_WRONLY|O_CREAT|O_EXCL|O_NOFOLLOW|O_CLOEXEC, 0644);

    if (fd == -1) {
        return cli_refuse(errno, "\"%s\"", path);
    }

    for (done = 0; done < html->size; done += (unsigned long) n) {
        n = write(fd, html->data + done, html->size - done);

        if (n == -1) {
            break;
        }
    }

    rc = done < html->size ? errno : 0;

    if (close(fd) == -1 && rc == 0) {
        rc = errno;
    }

    return rc ? cli_refuse(rc, "\"%s\"", path) : CLI_OK;
}
