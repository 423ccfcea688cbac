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

.PHONY: all module sessionctl mint load unit test check install clean

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

$(B)/load: $(B)/obj/bench/load.o $(STORE_OBJS)
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
# fuzz lets libFuzzer look for more, FUZZ_SECONDS each.  What it finds lies in
# build/fuzz/; an input worth keeping goes to t/fuzz/corpus/<driver>/.

FUZZ_SECONDS ?= 30
FUZZ_CC ?= clang
FUZZ := $(filter-out replay,$(patsubst t/fuzz/%.c,%,$(wildcard t/fuzz/*.c)))
FUZZ_STORE := token phc record jsonline keys
FUZZ_TEXT := $(filter-out $(FUZZ_STORE),$(FUZZ))
FUZZ_FLAGS := -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror $(SANITIZE) \
    -It/fuzz $(INCS)

.PHONY: fuzz fuzz-replay

fuzz-replay: $(FUZZ:%=$(B)/replay/%)
	@for d in $(FUZZ); do $(B)/replay/$$d t/fuzz/corpus/$$d || exit 1; done

$(FUZZ_TEXT:%=$(B)/replay/%): $(B)/replay/%: t/fuzz/%.c t/fuzz/replay.c \
    t/fuzz/fuzz.h $(TEXT_ASAN)
	@mkdir -p $(@D)
	$(CC) $(FUZZ_FLAGS) -o $@ $< t/fuzz/replay.c $(TEXT_ASAN)

$(FUZZ_STORE:%=$(B)/replay/%): $(B)/replay/%: t/fuzz/%.c t/fuzz/replay.c \
    t/fuzz/fuzz.h $(STORE_ASAN)
	@mkdir -p $(@D)
	$(CC) $(FUZZ_FLAGS) -o $@ $< t/fuzz/replay.c $(STORE_ASAN) $(LIBS_STORE)

fuzz: $(FUZZ:%=$(B)/fuzz/%)
	@for d in $(FUZZ); do \
	    mkdir -p $(B)/fuzz/corpus/$$d; \
	    $(B)/fuzz/$$d -max_total_time=$(FUZZ_SECONDS) -max_len=4200 \
	        -timeout=10 -artifact_prefix=$(B)/fuzz/$$d- \
	        $(B)/fuzz/corpus/$$d t/fuzz/corpus/$$d \
	        > $(B)/fuzz/$$d.log 2>&1 \
	        || { tail -50 $(B)/fuzz/$$d.log; exit 1; }; \
	    echo "$$d: $(FUZZ_SECONDS) s, nothing found"; \
	done

$(FUZZ_TEXT:%=$(B)/fuzz/%): $(B)/fuzz/%: t/fuzz/%.c t/fuzz/fuzz.h \
    $(TEXT_SRCS) $(TEXT_HDRS)
	@mkdir -p $(@D)
	$(FUZZ_CC) $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $< $(TEXT_SRCS)

$(FUZZ_STORE:%=$(B)/fuzz/%): $(B)/fuzz/%: t/fuzz/%.c t/fuzz/fuzz.h \
    $(STORE_SRCS) $(STORE_HDRS)
	@mkdir -p $(@D)
	$(FUZZ_CC) $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $< $(STORE_SRCS) \
	    $(LIBS_STORE)


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
