/*
 * Templates: what they mean, what they refuse, and that no value becomes
 * markup.
 */

#include "text_bytes.h"
#include "text/template.h"


#define OPS      TEXT_TEMPLATE_OPS_MAX
#define FILES    4


enum {
    TITLE = 0, TOKEN, EMPTY, SESSIONS, REF, DEVICE, TAGS, TAG, LAST, NONE, SLOTS
};

static const text_slot_t  slots[SLOTS] = {
    { "title", -1, 0 },
    { "token", -1, 0 },
    { "empty", -1, 0 },
    { "sessions", -1, TEXT_SLOT_LIST },
    { "ref", SESSIONS, 0 },
    { "device", SESSIONS, 0 },
    { "tags", SESSIONS, TEXT_SLOT_LIST },
    { "title", TAGS, 0 },
    { "last", -1, 0 },
    { "none", -1, TEXT_SLOT_LIST },
};

/* A page is exact bytes on the heap; the others are named by one letter. */
typedef struct {
    bytes_t      files[FILES];
    size_t       n;
} folder_t;

static int
load(void *data, text_span_t name, text_span_t *source)
{
    size_t     i;
    folder_t  *folder;

    folder = data;

    if (text_span_equal(name, text_span("azAZ09_-.x"))) {
        *source = text_span("long name");
        return 1;
    }

    if (text_span_equal(name, text_span("page"))) {
        *source = bytes_span(&folder->files[0]);
        return 1;
    }

    if (name.len != 1 || *name.data < 'a') {
        return 0;
    }

    i = (size_t) (*name.data - 'a') + 1;

    if (i >= folder->n) {
        return 0;
    }

    *source = bytes_span(&folder->files[i]);

    return 1;
}


static int
compile(folder_t *folder, text_op_t *ops, size_t capacity,
    text_template_t *tpl, text_template_error_t *error)
{
    return text_template_compile(text_span("page"), load, folder, slots,
                                 SLOTS, ops, capacity, tpl, error);
}


/* Measured first, then into a buffer of exactly that. */
static bytes_t
render(const text_template_t *tpl, const text_value_t *values)
{
    uint8_t  none[1];
    bytes_t  out;

    out = bytes_new(NULL, text_template_render(tpl, values, none, 0));

    assert_int_equal(text_template_render(tpl, values, out.data, out.len),
                     out.len);

    return out;
}


/* Two sessions; the first one has two tags. */
static void
fill(text_value_t values[SLOTS])
{
    static const text_value_t  tags[2] = {
        { { (const uint8_t *) "<x>", 3 }, NULL },
        { { (const uint8_t *) "y", 1 }, NULL },
    };

    static const text_rows_t  tag_rows = { tags, 2, 1, TAG };

    static text_value_t  sessions[6];
    static text_rows_t   session_rows;
    static text_rows_t   no_rows;

    memset(values, 0, SLOTS * sizeof(values[0]));
    memset(sessions, 0, sizeof(sessions));

    sessions[0].text = text_span("r1");
    sessions[1].text = text_span("Firefox & co");
    sessions[2].rows = &tag_rows;
    sessions[3].text = text_span("r2");

    session_rows.values = sessions;
    session_rows.n = 2;
    session_rows.width = 3;
    session_rows.first = REF;
    no_rows = session_rows;
    no_rows.n = 0;

    values[TITLE].text = text_span("A \"title\" <1>");
    values[TOKEN].text = text_span("t-0_K");
    values[LAST].text = text_span("z");
    values[SESSIONS].rows = &session_rows;
    values[NONE].rows = &no_rows;
}


static folder_t
folder_of(const char *page, size_t len)
{
    folder_t  folder;

    folder.files[0] = bytes_new(page, len);
    folder.files[1] = bytes_str("[{{title}}]");
    folder.files[2] = bytes_str("  {{#sessions}}\n{{ref}}\n  {{/sessions}}\n");
    folder.files[3] = bytes_str("{{> c}}");
    folder.n = FILES;

    return folder;
}


static void
folder_free(folder_t *folder)
{
    size_t  i;

    for (i = 0; i < folder->n; i++) {
        bytes_free(&folder->files[i]);
    }
}


static void
test_render(void **state)
{
    size_t                 i;
    folder_t               folder;
    text_op_t              ops[OPS];
    text_value_t           values[SLOTS];
    text_template_t        tpl;
    bytes_t                out;
    text_template_error_t  error;

    static const struct {
        const char  *page;
        const char  *want;
    } cases[] = {
        { "", "" },
        { "plain { } }} text\n", "plain { } }} text\n" },
        { "{{title}}", "A &quot;title&quot; &lt;1&gt;" },
        { "{{ title }}{{\ttoken\n}}",
          "A &quot;title&quot; &lt;1&gt;t-0_K" },
        { "<p title=\"{{title}}\">{{token}}</p>",
          "<p title=\"A &quot;title&quot; &lt;1&gt;\">t-0_K</p>" },
        { "a{{empty}}b", "ab" },
        { "{{token}}\n", "t-0_K\n" },
        { "  {{token}}  \n", "  t-0_K  \n" },
        { "{{#token}}yes {{token}}{{/token}}", "yes t-0_K" },
        { "{{#empty}}yes{{/empty}}no", "no" },
        { "{{^empty}}none{{/empty}}", "none" },
        { "{{^token}}none{{/token}}x", "x" },
        { "{{# token }}a{{/ token }}", "a" },
        { "{{#token}}{{^empty}}{{#empty}}a{{/empty}}b{{/empty}}{{/token}}c",
          "bc" },
        { "{{#sessions}}<{{ref}}:{{device}}:{{token}}>{{/sessions}}",
          "<r1:Firefox &amp; co:t-0_K><r2::t-0_K>" },
        { "{{^sessions}}none{{/sessions}}x", "x" },
        { "{{#none}}row{{/none}}{{^none}}none{{/none}}", "none" },
        { "{{#sessions}}{{#device}}{{device}}{{/device}}{{^device}}-"
          "{{/device}};{{/sessions}}", "Firefox &amp; co;-;" },
        { "{{#sessions}}{{ref}}{{#tags}}({{title}}{{ref}}){{/tags}}"
          "{{^tags}}[{{title}}]{{/tags}}{{/sessions}}",
          "r1(&lt;x&gt;r1)(yr1)r2[A &quot;title&quot; &lt;1&gt;]" },
        { "{{#sessions}}{{#tags}}{{#ref}}{{title}}{{/ref}}{{/tags}}"
          "{{/sessions}}{{token}}", "&lt;x&gt;yt-0_K" },
        { "{{#sessions}}{{#tags}}{{last}}{{/tags}}{{last}}{{/sessions}}",
          "zzzz" },
        { "{{#sessions}}{{#none}}x{{/none}}{{/sessions}}", "" },
        { "a{{! comment }}b", "ab" },
        { "a{{!}}b", "ab" },
        { "a{{! {{ \n < }}b", "ab" },
        { "{{> a}}", "[A &quot;title&quot; &lt;1&gt;]" },
        { "{{>a}}{{>a}}", "[A &quot;title&quot; &lt;1&gt;]"
                          "[A &quot;title&quot; &lt;1&gt;]" },
        { "{{> azAZ09_-.x }}", "long name" },
        { "1\n{{> b}}\n2", "1\nr1\nr2\n2" },
        { "{{#sessions}}{{> a}}{{/sessions}}",
          "[A &quot;title&quot; &lt;1&gt;][A &quot;title&quot; &lt;1&gt;]" },

        /* alone on its line */

        { "a\n{{! c }}\nb", "a\nb" },
        { "a\n  {{! c }}\t\nb", "a\nb" },
        { "a\r\n{{! c }}\r\nb", "a\r\nb" },
        { "{{! c }}\nb", "b" },
        { "a\n{{! c }}", "a\n" },
        { "  {{! c }}", "" },
        { "a\n {{! c\n  d }} \nb", "a\nb" },
        { "a {{! c }}\nb", "a \nb" },
        { "{{! c }} a\nb", " a\nb" },
        { "{{! c }}{{! d }}\nb", "\nb" },
        { "{{! c }}\n{{! d }}\n{{! e }}\nb", "b" },
        { "{{! c }}\rb", "\rb" },
        { "<ul>\n  {{#sessions}}\n  <li>{{ref}}\n  {{/sessions}}\n</ul>\n",
          "<ul>\n  <li>r1\n  <li>r2\n</ul>\n" },
        { "{{#token}}\n{{/token}}\n", "" },
        { " {{#token}} a\n {{/token}} \n b", "  a\n b" },
    };

    (void) state;

    fill(values);

    for (i = 0; i < bytes_count(cases); i++) {
        folder = folder_of(cases[i].page, strlen(cases[i].page));

        if (compile(&folder, ops, OPS, &tpl, &error) != 0) {
            fail_msg("%s: %s", cases[i].page, error.what);
        }

        out = render(&tpl, values);
        bytes_assert(bytes_span(&out), cases[i].want, cases[i].page);
        bytes_free(&out);
        folder_free(&folder);
    }
}


static void
test_compile_refuses(void **state)
{
    size_t                 i;
    folder_t               folder;
    text_op_t              ops[OPS];
    text_template_t        tpl;
    text_template_error_t  error;

    static const struct {
        const char  *page;
        unsigned     line;
        const char  *what;
        const char  *name;
        const char  *file;
    } cases[] = {
        { "a\n{{nope}}", 2, "unknown slot", "nope", "page" },
        { "{{Title}}", 1, "unknown slot", "Title", "page" },
        { "{{titl}}{{title2}}", 1, "unknown slot", "titl", "page" },
        { "{{}}", 1, "unknown slot", "", "page" },
        { "{{ }}", 1, "unknown slot", "", "page" },
        { "{{#}}", 1, "unknown slot", "", "page" },
        { "\n\n{{#nope}}{{/nope}}", 3, "unknown slot", "nope", "page" },
        { "{{^nope}}{{/nope}}", 1, "unknown slot", "nope", "page" },
        { "{{title token}}", 1, "unknown slot", "title token", "page" },
        { "{{.}}", 1, "unknown slot", ".", "page" },
        { "{{=<% %>=}}", 1, "unknown slot", "=<% %>=", "page" },
        { "{{{title}}}", 1, "there is no raw form", "{title", "page" },
        { "{{&title}}", 1, "there is no raw form", "&title", "page" },
        { "{{& title}}", 1, "there is no raw form", "& title", "page" },
        { "{{ref}}", 1, "slot of a list used outside of it", "ref", "page" },
        { "{{^sessions}}{{ref}}{{/sessions}}", 1,
          "slot of a list used outside of it", "ref", "page" },
        { "{{#sessions}}{{/sessions}}\n{{#tags}}{{/tags}}", 2,
          "slot of a list used outside of it", "tags", "page" },
        { "{{sessions}}", 1, "list used as a value", "sessions", "page" },
        { "{{#sessions}}{{#sessions}}{{/sessions}}{{/sessions}}", 1,
          "list inside itself", "sessions", "page" },
        { "a\n{{#title}}\nb\n", 2, "section not closed", "title", "page" },
        { "{{#title}}\n{{#token}}{{/token}}\n", 1, "section not closed",
          "title", "page" },
        { "{{/title}}", 1, "section not open", "title", "page" },
        { "{{#title}}{{/title}}{{/title}}", 1, "section not open", "title",
          "page" },
        { "{{#title}}\n{{#token}}\n{{/title}}{{/token}}", 3,
          "section closed before the one in it", "title", "page" },
        { "{{#title}}{{/}}", 1, "section closed before the one in it", "",
          "page" },
        { "a\nb {{title", 2, "tag not closed", "", "page" },
        { "{{", 1, "tag not closed", "", "page" },
        { "{{title}", 1, "tag not closed", "", "page" },
        { "{{! comment", 1, "tag not closed", "", "page" },
        { "\n{{> z}}", 2, "no such file", "z", "page" },
        { "{{>}}", 1, "bad file name", "", "page" },
        { "{{> ../a}}", 1, "bad file name", "../a", "page" },
        { "{{> /etc/passwd}}", 1, "bad file name", "/etc/passwd", "page" },
        { "{{> .hidden}}", 1, "bad file name", ".hidden", "page" },
        { "{{> a b}}", 1, "bad file name", "a b", "page" },
        { "{{> a\\b}}", 1, "bad file name", "a\\b", "page" },
        { "{{> c}}", 1, "nested too deep", "c", "c" },
        { "{{> page}}", 1, "nested too deep", "page", "page" },
    };

    (void) state;

    for (i = 0; i < bytes_count(cases); i++) {
        folder = folder_of(cases[i].page, strlen(cases[i].page));
        memset(&error, 0, sizeof(error));

        if (compile(&folder, ops, OPS, &tpl, &error) != -1) {
            fail_msg("accepted: %s", cases[i].page);
        }

        bytes_assert(bytes_literal(error.what), cases[i].what, cases[i].page);
        bytes_assert(error.name, cases[i].name, cases[i].page);
        bytes_assert(error.file, cases[i].file, cases[i].page);
        assert_int_equal(error.line, cases[i].line);
        folder_free(&folder);
    }
}


/* A section must end in the file it begins in. */
static void
test_compile_sections_and_files(void **state)
{
    folder_t               folder;
    text_op_t              ops[OPS];
    text_template_t        tpl;
    text_template_error_t  error;

    (void) state;

    folder = folder_of("{{#title}}\n{{> a}}", 18);
    bytes_free(&folder.files[1]);
    folder.files[1] = bytes_str("\n{{/title}}");
    assert_int_equal(compile(&folder, ops, OPS, &tpl, &error), -1);
    assert_string_equal(error.what, "section not open");
    bytes_assert(error.file, "a", "file");
    assert_int_equal(error.line, 2);
    folder_free(&folder);

    folder = folder_of("{{> a}}\n{{/title}}", 18);
    bytes_free(&folder.files[1]);
    folder.files[1] = bytes_str("\n\n{{#title}}");
    assert_int_equal(compile(&folder, ops, OPS, &tpl, &error), -1);
    assert_string_equal(error.what, "section not closed");
    bytes_assert(error.file, "a", "file");
    assert_int_equal(error.line, 3);
    folder_free(&folder);

    folder = folder_of("x", 1);
    bytes_free(&folder.files[0]);
    folder.files[0] = bytes_new(NULL, TEXT_TEMPLATE_SIZE_MAX + 1);
    memset(folder.files[0].data, '{', 1);
    memset(folder.files[0].data + 1, '\n', TEXT_TEMPLATE_SIZE_MAX);
    assert_int_equal(compile(&folder, ops, OPS, &tpl, &error), -1);
    assert_string_equal(error.what, "file too large");
    folder.files[0].len--;
    assert_int_equal(compile(&folder, ops, OPS, &tpl, &error), 0);
    folder_free(&folder);

    assert_int_equal(text_template_compile(text_span("gone"), load, &folder,
                                           slots, SLOTS, ops, OPS, &tpl,
                                           &error), -1);
    assert_string_equal(error.what, "no such file");
    bytes_assert(error.file, "gone", "file");
    assert_int_equal(error.line, 0);
}


static void
test_compile_bounds(void **state)
{
    size_t                 n;
    folder_t               folder;
    text_op_t             *ops;
    text_template_t        tpl;
    text_template_error_t  error;

    static const char  page[] = "a{{title}}b{{#sessions}}c{{/sessions}}";

    static const char *const  deep[] = {
        "{{#title}}{{#title}}{{#title}}{{#title}}"
        "{{#title}}{{#title}}{{#title}}{{#title}}x"
        "{{/title}}{{/title}}{{/title}}{{/title}}"
        "{{/title}}{{/title}}{{/title}}{{/title}}",
        "{{#title}}{{#title}}{{#title}}{{#title}}"
        "{{#title}}{{#title}}{{#title}}{{#title}}{{#title}}",
        "{{#title}}{{#title}}{{#title}}{{#title}}"
        "{{#title}}{{#title}}{{#title}}{{#title}}{{> a}}",
    };

    (void) state;

    for (n = 0; n <= 6; n++) {
        folder = folder_of(page, sizeof(page) - 1);
        ops = malloc(n == 0 ? 1 : n * sizeof(text_op_t));
        assert_non_null(ops);
        assert_int_equal(compile(&folder, ops, n, &tpl, &error),
                         n < 6 ? -1 : 0);

        if (n < 6) {
            assert_string_equal(error.what, "too many tags");

        } else {
            assert_int_equal(tpl.n, 6);
        }

        free(ops);
        folder_free(&folder);
    }

    ops = malloc(OPS * sizeof(text_op_t));
    assert_non_null(ops);

    for (n = 0; n < bytes_count(deep); n++) {
        folder = folder_of(deep[n], strlen(deep[n]));
        assert_int_equal(compile(&folder, ops, OPS, &tpl, &error),
                         n == 0 ? 0 : -1);
        assert_true(n == 0 || strcmp(error.what, "nested too deep") == 0);
        folder_free(&folder);
    }

    /* files that include one another seven wide would be read 7^8 times */

    folder = folder_of("{{>c}}{{>c}}{{>c}}{{>c}}{{>c}}{{>c}}{{>c}}", 42);
    bytes_free(&folder.files[1]);
    bytes_free(&folder.files[2]);
    bytes_free(&folder.files[3]);
    folder.files[3] = bytes_str("{{>b}}{{>b}}{{>b}}{{>b}}{{>b}}{{>b}}{{>b}}");
    folder.files[2] = bytes_str("{{>a}}{{>a}}{{>a}}{{>a}}{{>a}}{{>a}}{{>a}}");
    folder.files[1] = bytes_str("{{!}}{{!}}");
    assert_int_equal(compile(&folder, ops, OPS, &tpl, &error), 0);
    assert_int_equal(tpl.n, 0);

    bytes_free(&folder.files[1]);
    folder.files[1] = bytes_str("{{>page}}{{>page}}");
    assert_int_equal(compile(&folder, ops, OPS, &tpl, &error), -1);
    folder_free(&folder);

    folder = folder_of("", 0);
    bytes_free(&folder.files[0]);
    bytes_free(&folder.files[1]);
    folder.files[0] = bytes_new(NULL, 512 * 6);
    folder.files[1] = bytes_str("");

    for (n = 0; n < 512; n++) {
        memcpy(folder.files[0].data + n * 6, "{{>a}}", 6);
    }

    assert_int_equal(compile(&folder, ops, OPS, &tpl, &error), -1);
    assert_string_equal(error.what, "too many files");
    folder.files[0].len -= 6;
    assert_int_equal(compile(&folder, ops, OPS, &tpl, &error), 0);

    folder_free(&folder);
    free(ops);
}


static void
test_compile_required(void **state)
{
    size_t                 i;
    folder_t               folder;
    text_op_t              ops[OPS];
    text_template_t        tpl;
    text_template_error_t  error;

    static const text_slot_t  required[] = {
        { "csrf", -1, TEXT_SLOT_REQUIRED },
        { "rows", -1, TEXT_SLOT_REQUIRED | TEXT_SLOT_LIST },
        { "key", 1, TEXT_SLOT_REQUIRED },
    };

    static const struct {
        const char  *page;
        const char  *missing;
    } cases[] = {
        { "{{csrf}}{{#rows}}{{key}}{{/rows}}", NULL },
        { "{{#csrf}}{{csrf}}{{/csrf}}{{#rows}}{{key}}{{/rows}}", NULL },
        { "{{#rows}}{{key}}{{/rows}}", "csrf" },
        { "{{#csrf}}x{{/csrf}}{{#rows}}{{key}}{{/rows}}", "csrf" },
        { "{{! {{csrf}} {{#rows}}{{key}}{{/rows}}", "csrf" },
        { "{{csrf}}", "rows" },
        { "{{csrf}}{{^rows}}x{{/rows}}", "rows" },
        { "{{csrf}}{{#rows}}x{{/rows}}", "key" },
        { "", "csrf" },
    };

    (void) state;

    for (i = 0; i < bytes_count(cases); i++) {
        folder = folder_of(cases[i].page, strlen(cases[i].page));
        assert_int_equal(text_template_compile(text_span("page"), load,
                                               &folder, required, 3, ops, OPS,
                                               &tpl, &error),
                         cases[i].missing == NULL ? 0 : -1);

        if (cases[i].missing != NULL) {
            assert_string_equal(error.what, "required slot not used");
            bytes_assert(error.name, cases[i].missing, cases[i].page);
            bytes_assert(error.file, "page", cases[i].page);
            assert_int_equal(error.line, 0);
        }

        folder_free(&folder);
    }
}


static void
test_compile_truncated(void **state)
{
    int                    rc;
    size_t                 len;
    folder_t               folder;
    text_op_t              ops[OPS];
    const char            *whole;
    text_value_t           values[SLOTS];
    bytes_t                out;
    text_template_t        tpl;
    text_template_error_t  error;

    (void) state;

    whole = "<a>\n {{! x }} \n{{title}}{{#sessions}}\n {{#tags}}{{title}}"
            "{{/tags}} {{> a}}{{/sessions}}\r\n{{^none}}\r\n\n{{/none}}";
    fill(values);

    for (len = 0; len <= strlen(whole); len++) {
        folder = folder_of(whole, len);
        rc = compile(&folder, ops, OPS, &tpl, &error);

        if (rc == 0) {
            out = render(&tpl, values);
            bytes_free(&out);

        } else {
            assert_true(error.line >= 1 && error.line <= 7);
        }

        folder_free(&folder);
    }

    assert_int_equal(rc, 0);
}


/* Bit n of known says that the value of slot n is; literals belong to the page
 * and are exactly as long as it says. */
static text_template_t
fold(const text_template_t *tpl, const text_value_t *values, unsigned known,
    text_op_t *ops, bytes_t *literals)
{
    size_t           i, len;
    uint8_t          mask[3], none[1];
    text_template_t  out;

    for (i = 0; i < sizeof(mask); i++) {
        mask[i] = known >> i & 1;
    }

    len = text_template_fold(tpl, values, mask, sizeof(mask), ops, none, 0,
                             &out);
    *literals = bytes_new(NULL, len);

    assert_int_equal(text_template_fold(tpl, values, mask, sizeof(mask), ops,
                                        literals->data, len, &out),
                     len);

    return out;
}


/* What is known is gone, and what stood around it is one literal. */
static void
test_fold(void **state)
{
    bytes_t                literals, out;
    folder_t               folder;
    text_op_t              ops[OPS], fewer[OPS];
    text_value_t           values[SLOTS];
    text_template_t        tpl, folded;
    text_template_error_t  error;

    static const char  page[] =
        "<{{title}}>{{#token}}<b>{{#empty}}never{{/empty}}"
        "{{^empty}}<i>{{/empty}}{{/token}}"
        "{{#sessions}}({{title}}{{ref}}){{/sessions}}end";

    (void) state;

    fill(values);
    folder = folder_of(page, sizeof(page) - 1);
    assert_int_equal(compile(&folder, ops, OPS, &tpl, &error), 0);

    folded = fold(&tpl, values, 7, fewer, &literals);

    /* literal, sessions, literal, ref, literal, end of sessions, literal */

    assert_int_equal(folded.n, 7);
    assert_int_equal(folded.ops[0].kind, TEXT_OP_LITERAL);
    bytes_assert(folded.ops[0].literal,
                 "<A &quot;title&quot; &lt;1&gt;><b><i>", page);

    out = render(&folded, values);
    bytes_assert(bytes_span(&out),
                 "<A &quot;title&quot; &lt;1&gt;><b><i>"
                 "(A &quot;title&quot; &lt;1&gt;r1)"
                 "(A &quot;title&quot; &lt;1&gt;r2)end", page);
    bytes_free(&out);
    bytes_free(&literals);

    folded = fold(&tpl, values, 0, fewer, &literals);
    assert_int_equal(folded.n, tpl.n);
    bytes_free(&literals);

    folder_free(&folder);
}


/* What fits is there, the length is the whole page's, and nothing else is
 * written. */
static void
test_render_cut(void **state)
{
    size_t                 len;
    bytes_t                whole, cut;
    folder_t               folder;
    text_op_t              ops[OPS];
    text_value_t           values[SLOTS];
    text_template_t        tpl;
    text_template_error_t  error;

    static const char  page[] =
        "<p>{{title}}</p>{{#sessions}}<b>{{device}}</b>{{/sessions}}<hr>";

    (void) state;

    fill(values);
    folder = folder_of(page, sizeof(page) - 1);
    assert_int_equal(compile(&folder, ops, OPS, &tpl, &error), 0);

    whole = render(&tpl, values);

    for (len = 0; len < whole.len; len++) {
        cut = bytes_new(NULL, len);

        assert_int_equal(text_template_render(&tpl, values, cut.data, len),
                         whole.len);
        assert_memory_equal(cut.data, whole.data, len);

        bytes_free(&cut);
    }

    bytes_free(&whole);
    folder_free(&folder);
}


static const char *const  markup[] = {
    "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "'", "`",
    "{{title}}", "&lt;", "</title>", "\xe2\x80\xa8", "\xff<", "a", "",
    "javascript:alert(1)", "<!--", "]]>", "\xc3\"", "\xe2\x82<",
};


static void
draw_values(uint64_t *seed, text_value_t values[SLOTS],
    text_value_t sessions[6], text_rows_t *rows)
{
    size_t  i;

    memset(sessions, 0, 6 * sizeof(sessions[0]));
    memset(values, 0, SLOTS * sizeof(values[0]));

    for (i = 0; i < SLOTS; i++) {
        values[i].text = bytes_literal(markup[bytes_random(seed)
                                              % bytes_count(markup)]);
    }

    for (i = 0; i < 6; i++) {
        sessions[i].text = bytes_literal(markup[bytes_random(seed)
                                                % bytes_count(markup)]);
    }

    rows->values = sessions;
    rows->n = bytes_random(seed) % 3;
    rows->width = 3;
    rows->first = REF;
    values[SESSIONS].rows = rows;
}


/* Pages of anything that compiles, without markup of their own; what is known
 * beforehand makes no difference. */
static void
test_render_anything(void **state)
{
    int                    round;
    char                   page[1024];
    size_t                 i, n, accepted;
    folder_t               folder;
    uint64_t               seed;
    text_op_t              ops[OPS];
    text_rows_t            rows;
    const char            *part;
    text_value_t           values[SLOTS], sessions[6];
    bytes_t                out, again, literals;
    unsigned               known;
    text_op_t              fewer[OPS];
    text_template_t        tpl, folded;
    text_template_error_t  error;

    static const char *const  parts[] = {
        "{{title}}", "{{token}}", "{{#title}}", "{{/title}}", "{{^title}}",
        "{{#sessions}}", "{{/sessions}}", "{{ref}}", "{{^sessions}}",
        "{{device}}", "{{#tags}}", "{{/tags}}", "{{> a}}", "{{> b}}",
        "{{! c }}", "\n", " ", "text", "{{", "}}", "{", "{{#device}}",
        "{{/device}}", "\r\n", "{{none}}",
    };

    (void) state;

    seed = 2026;
    accepted = 0;

    for (round = 0; round < 100000; round++) {

        for (i = bytes_random(&seed) % 9, n = 0; i > 0; i--) {
            part = parts[bytes_random(&seed) % bytes_count(parts)];
            memcpy(page + n, part, strlen(part));
            n += strlen(part);
        }

        folder = folder_of(page, n);
        draw_values(&seed, values, sessions, &rows);

        if (compile(&folder, ops, OPS, &tpl, &error) == 0) {
            accepted++;
            out = render(&tpl, values);

            for (i = 0; i < out.len; i++) {
                assert_null(memchr("<>\"'`", out.data[i], 5));
            }

            known = (unsigned) bytes_random(&seed) % 8;
            folded = fold(&tpl, values, known, fewer, &literals);
            again = render(&folded, values);

            assert_true(folded.n <= tpl.n);
            assert_int_equal(again.len, out.len);
            assert_memory_equal(again.data, out.data, out.len);

            bytes_free(&again);
            bytes_free(&literals);
            bytes_free(&out);
        }

        folder_free(&folder);
    }

    assert_true(accepted > 10000);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_render),
        cmocka_unit_test(test_compile_refuses),
        cmocka_unit_test(test_compile_sections_and_files),
        cmocka_unit_test(test_compile_bounds),
        cmocka_unit_test(test_compile_required),
        cmocka_unit_test(test_compile_truncated),
        cmocka_unit_test(test_render_cut),
        cmocka_unit_test(test_fold),
        cmocka_unit_test(test_render_anything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
