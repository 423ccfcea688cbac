# make module | sessionctl | unit | test | check | matrix | install | uninstall
#      | deb
#
# Everything built goes to build/.  The module is built against the nginx
# source tree NGINX_SRC with the configure arguments of the nginx in NGINX, so
# that a stock nginx can load it.

NGINX ?= nginx
NGINX_SRC ?= /usr/share/nginx/src
CC ?= cc

B := build

CFLAGS_STORE := -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Wshadow \
    -Wconversion -Werror
CFLAGS_OPT ?= -g -O2 -fstack-protector-strong -D_FORTIFY_SOURCE=2
# -idirafter: with -I, store/limits.h would hide <limits.h>
INCS := -idirafter store -Ingx_module
SANITIZE := -g -O1 -fno-omit-frame-pointer -fsanitize=address,undefined \
    -fno-sanitize-recover=undefined
LIBS_STORE := -llmdb -lsodium -lcrypto -pthread

STORE_SRCS := $(sort $(wildcard store/*.c))
CLI_SRCS := $(sort $(wildcard store/cli/*.c))
TEXT_SRCS := $(sort $(wildcard ngx_module/text/*.c))
STORE_HDRS := $(wildcard store/*.h)
TEXT_HDRS := $(wildcard ngx_module/text/*.h)

STORE_OBJS := $(STORE_SRCS:%.c=$(B)/obj/%.o)
CLI_OBJS := $(CLI_SRCS:%.c=$(B)/obj/%.o)
STORE_ASAN := $(STORE_SRCS:%.c=$(B)/asan/%.o)
TEXT_ASAN := $(TEXT_SRCS:%.c=$(B)/asan/%.o)

# objects of units are wanted again by the next unit
.SECONDARY:

.PHONY: all module sessionctl mint load timing unit test check install clean

all: module sessionctl


# the CLI

sessionctl: $(B)/sessionctl

$(B)/sessionctl: $(CLI_OBJS) $(STORE_OBJS) $(B)/obj/session_html.o
	$(CC) $(CFLAGS_OPT) -o $@ $^ $(LIBS_STORE)

$(B)/gen/session_html.c: bin/embed-html $(shell find ngx_module/html)
	bin/embed-html ngx_module/html $@

$(B)/obj/session_html.o: $(B)/gen/session_html.c ngx_module/html.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_STORE) $(CFLAGS_OPT) $(INCS) -c -o $@ $<

$(B)/obj/%.o: %.c $(STORE_HDRS) $(wildcard store/cli/*.h) $(TEXT_HDRS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_STORE) $(CFLAGS_OPT) $(INCS) -c -o $@ $<

$(B)/asan/%.o: %.c $(STORE_HDRS) $(TEXT_HDRS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_STORE) $(SANITIZE) $(INCS) -c -o $@ $<


# what suites use to make stores, users, sessions and tokens, and to look at
# what a machine that loses power leaves of a store

mint: $(B)/mint $(B)/power_cut

MINT_OBJS := $(B)/obj/t/tools/mint.o $(B)/obj/t/tools/mint_world.o

$(MINT_OBJS): t/tools/mint.h

$(B)/mint: $(MINT_OBJS) $(STORE_OBJS)
	$(CC) $(CFLAGS_OPT) -o $@ $^ $(LIBS_STORE)

POWER_OBJS := $(patsubst %.c,$(B)/obj/%.o,$(wildcard t/tools/power_*.c))

$(POWER_OBJS): $(wildcard t/tools/power_*.h)

$(B)/power_cut: $(POWER_OBJS) $(STORE_OBJS)
	$(CC) $(CFLAGS_OPT) -o $@ $^ $(LIBS_STORE)


# what bench/ fills stores with

load: $(B)/load

LOAD_OBJS := $(patsubst %.c,$(B)/obj/%.o,$(wildcard bench/*.c))

$(LOAD_OBJS): bench/load.h

$(B)/load: $(LOAD_OBJS) $(STORE_OBJS)
	$(CC) $(CFLAGS_OPT) -o $@ $^ $(LIBS_STORE)


# what bench/timing measures single calls with

timing: $(B)/timing

$(B)/timing: $(B)/obj/t/tools/timing.o $(STORE_OBJS)
	$(CC) $(CFLAGS_OPT) -o $@ $^ $(LIBS_STORE)


# the module: see bin/build-module for how nginx's own build is driven

module:
	NGINX=$(NGINX) NGINX_SRC=$(NGINX_SRC) CC=$(CC) bin/build-module $(B)


# cmocka units, one program per file under t/unit, with ASan and UBSan

UNITS := $(patsubst t/unit/%.c,$(B)/unit/%,$(sort $(wildcard t/unit/*_test.c)))

unit: $(UNITS)
	@bin/run-units $(B)/unit

$(B)/unit/store_%: t/unit/store_%.c $(wildcard t/unit/*.h) $(STORE_ASAN)
	@mkdir -p $(@D)
	$(CC) -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror $(SANITIZE) \
	    -idirafter store $(WRAP) -o $@ $< $(STORE_ASAN) -lcmocka $(LIBS_STORE)

# calls that the fault test lets fail
$(B)/unit/store_fault_test: WRAP := $(foreach f,get put del drop stat \
    cursor_open cursor_get txn_begin txn_renew txn_commit dbi_open env_info \
    reader_check,-Wl,--wrap=mdb_$(f))

$(B)/unit/text_%: t/unit/text_%.c $(wildcard t/unit/*.h) $(TEXT_ASAN)
	@mkdir -p $(@D)
	$(CC) -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror $(SANITIZE) \
	    -Ingx_module -o $@ $< $(TEXT_ASAN) -lcmocka


# fuzz drivers, one per parser: fuzz-replay runs what is in the corpus,
# fuzz lets libFuzzer look for more, FUZZ_SECONDS each, or as many times as
# FUZZ_RUNS says.  What it finds lies in build/fuzz/; an input worth keeping
# goes to t/fuzz/corpus/<driver>/.  FUZZ=form runs that driver alone, and
# FUZZ_SANITIZE=-O2 with a B of its own is what no sanitizer slows down.
#
# Coverage is counted in what is tested and not in the drivers, and only files
# that a driver needs are linked: libFuzzer looks at every counter each time.

FUZZ_RUNS ?= -1
FUZZ_SECONDS ?= $(if $(filter -1,$(FUZZ_RUNS)),30,0)
FUZZ_CC ?= clang
FUZZ_SANITIZE ?= $(SANITIZE)
FUZZ := $(filter-out replay,$(patsubst t/fuzz/%.c,%,$(wildcard t/fuzz/*.c)))
FUZZ_FLAGS := -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -It/fuzz $(INCS)
FUZZ_HDRS := $(wildcard t/fuzz/*.h)
FUZZ_OBJS := $(patsubst %.c,$(B)/fuzz/obj/%.o,$(TEXT_SRCS) $(STORE_SRCS))
FUZZ_LIBS := -ljansson $(LIBS_STORE)

# Longer inputs find nothing new: limits beyond are for units.  FUZZ_ARGS may
# hold more for libFuzzer; -entropic=0 makes it half as fast again.
FUZZ_ARGS ?=
FUZZ_LEN_accept := 128
FUZZ_LEN_cookie := 128
FUZZ_LEN_csp := 256
FUZZ_LEN_device := 128
FUZZ_LEN_escape := 64
FUZZ_LEN_form := 256
FUZZ_LEN_json := 64
FUZZ_LEN_jsonline := 256
FUZZ_LEN_phc := 128
FUZZ_LEN_redirect := 128
FUZZ_LEN_template := 256
FUZZ_LEN_token := 128
FUZZ_LEN_keys := 400
FUZZ_LEN_restore := 1500

# calls that its driver answers, from memory and with memory of its own
$(B)/fuzz/keys $(B)/replay/keys: FUZZ_LIBS += $(foreach f,fstat read \
    store_pages_get store_pages_put,-Wl,--wrap=$(f))

.PHONY: fuzz fuzz-replay $(FUZZ:%=fuzz-%)

fuzz-replay: $(FUZZ:%=$(B)/replay/%)
	@for d in $(FUZZ); do $(B)/replay/$$d t/fuzz/corpus/$$d || exit 1; done

$(FUZZ:%=$(B)/replay/%): $(B)/replay/%: t/fuzz/%.c t/fuzz/replay.c \
    $(FUZZ_HDRS) $(TEXT_ASAN) $(STORE_ASAN)
	@mkdir -p $(@D)
	$(CC) $(FUZZ_FLAGS) $(SANITIZE) -o $@ $< t/fuzz/replay.c $(TEXT_ASAN) \
	    $(STORE_ASAN) $(FUZZ_LIBS)

fuzz: $(FUZZ:%=fuzz-%)

$(FUZZ:%=fuzz-%): fuzz-%: $(B)/fuzz/%
	@mkdir -p $(B)/fuzz/corpus/$*
	@$< -runs=$(FUZZ_RUNS) -max_total_time=$(FUZZ_SECONDS) \
	    -max_len=$(or $(FUZZ_LEN_$*),512) -timeout=10 $(FUZZ_ARGS) \
	    -artifact_prefix=$<- $(B)/fuzz/corpus/$* t/fuzz/corpus/$* \
	    > $<.log 2>&1 || { tail -50 $<.log; exit 1; }
	@sed -n 's/^Done \([0-9]*\) runs in \([0-9]*\) .*/$*: \1 runs, \2 s,'\
	' nothing found/p' $<.log

$(FUZZ:%=$(B)/fuzz/%): $(B)/fuzz/%: t/fuzz/%.c $(FUZZ_HDRS) $(B)/fuzz/code.a
	$(FUZZ_CC) $(FUZZ_FLAGS) $(FUZZ_SANITIZE) -c -o $@.o $<
	$(FUZZ_CC) $(FUZZ_SANITIZE) -fsanitize=fuzzer -o $@ $@.o \
	    $(B)/fuzz/code.a $(FUZZ_LIBS)

$(B)/fuzz/code.a: $(FUZZ_OBJS)
	rm -f $@
	ar rcs $@ $^

$(B)/fuzz/obj/%.o: %.c $(STORE_HDRS) $(TEXT_HDRS)
	@mkdir -p $(@D)
	$(FUZZ_CC) $(FUZZ_FLAGS) $(FUZZ_SANITIZE) -fsanitize=fuzzer-no-link \
	    -c -o $@ $<


test:
	bin/test


# what nginx.conf and a person need, where this nginx looks for it: see
# bin/install for DESTDIR, PREFIX and others.  Build first, install as root.

.PHONY: uninstall

install uninstall: export NGINX := $(NGINX)
install uninstall: export B := $(B)
install uninstall:
	@bin/install $@


# the tests with the nginx of other Debians, each in a chroot of its own

SUITES ?=

.PHONY: matrix

matrix:
	bin/matrix $(SUITES)


# what can be checked without a server

check: module
	PERL5LIB=t/lib prove t/style.t t/docs.t

clean:
	rm -rf $(B)
