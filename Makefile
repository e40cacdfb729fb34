# Pando: built with PGXS. PG_CONFIG chooses the PostgreSQL to build against.
MODULE_big = pando
EXTENSION  = pando
PANDO_VERSION = 1.1

SRCS = $(sort $(shell find src/pando -name '*.c'))
OBJS = $(SRCS:.c=.o)
DATA_built = pando--$(PANDO_VERSION).sql pando--1.0.sql pando--1.0--1.1.sql

# The catalogs of version 1.0, then what each version adds to them, then what is replaced by all of them. An update script
# is the same from its version on; version 1.0 is installed as catalogs alone, to be updated.
SQL_UPDATES = $(sort $(wildcard sql/updates/*.sql))
SQL_REPLACED = $(sort $(wildcard sql/functions/*.sql)) $(sort $(wildcard sql/views/*.sql))

PG_CONFIG ?= pg_config
PG_CPPFLAGS = -DPANDO_VERSION=\"$(PANDO_VERSION)\" -I$(CURDIR)/src -I$(shell $(PG_CONFIG) --includedir) $(PANDO_CPPFLAGS)
PG_CFLAGS   = -std=gnu11 -Wall -Wextra -Werror -Wno-unused-parameter -Wno-sign-compare \
              -Wno-missing-field-initializers -Wno-declaration-after-statement \
              -Wno-cast-function-type -Wno-clobbered -MMD -MP
# A transaction runs through much of the library once, so that the memory it touches counts more than its instructions: small
# variables of all files, of which each backend has its own, lie together, and calls of the server's functions go without stubs.
# By callgrind's count, two updates of one key miss a first-level cache of 32 kB 5,870 times on the client's node instead of 6,230.
# So do the functions that short transactions run through (hot.map, a tenth of the code), by turns of half a second and processor time:
# SELECT of one row with two workers and 16 clients .94 of what it took (simple) and .97 (prepared), two updates of one key .92 to .97.
PG_CFLAGS  += -fdata-sections -ffunction-sections -fno-plt
SHLIB_LINK  = -L$(shell $(PG_CONFIG) --libdir) -lpq -Wl,--version-script=pando.exports -Wl,--sort-section=alignment -Wl,-T,pando.hot
# Output plugins that give the changes of shards as changes of their tables, by the names of those that they wrap.
DECODERS = $(patsubst %,pando_decoders/%$(DLSUFFIX),pgoutput test_decoding wal2json)
EXTRA_CLEAN = $(OBJS:.o=.d) pando.exports pando.hot $(DATA_built) pando_decoders
# LLVM bitcode of an extension brings nothing here and doubles the build.
with_llvm = no

PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)
override with_llvm = no

pando--$(PANDO_VERSION).sql: sql/schema.sql $(SQL_UPDATES) $(SQL_REPLACED)
	cat $^ > $@

pando--1.0.sql: sql/schema.sql
	cat $^ > $@

pando--1.0--1.1.sql: sql/updates/1.0--1.1.sql $(SQL_REPLACED)
	cat $^ > $@

# What PostgreSQL looks up by name, and nothing else, leaves the library.
pando.exports: $(SRCS) exports.map
	sh tools/make-exports exports.map $(SRCS) > $@

pando.hot: hot.map
	sh tools/make-hot hot.map > $@

$(shlib): pando.exports pando.hot
pando.so: pando.exports pando.hot
$(OBJS): Makefile

all: $(DECODERS)
$(DECODERS): pando_decoders/%$(DLSUFFIX): src/decoders/decoder.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(CFLAGS_SL) -DDECODER='"$*"' -shared -o $@ $<

install: install-decoders
install-decoders: $(DECODERS)
	$(MKDIR_P) '$(DESTDIR)$(pkglibdir)/pando_decoders'
	$(INSTALL_SHLIB) $(DECODERS) '$(DESTDIR)$(pkglibdir)/pando_decoders/'
uninstall: uninstall-decoders
uninstall-decoders:
	rm -rf '$(DESTDIR)$(pkglibdir)/pando_decoders'

-include $(OBJS:.o=.d)

.PHONY: check-structure format install-decoders uninstall-decoders
check-structure:
	sh tools/check-structure

# Version 14's output is what the sources have.
CLANG_FORMAT ?= clang-format-14
format:
	$(CLANG_FORMAT) -i $$(find src/pando -name '*.[ch]')
