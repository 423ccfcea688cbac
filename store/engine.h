/*
 * engine.h: which database library is loaded, and how its files are laid out.
 */

#ifndef STORE_ENGINE_H_INCLUDED
#define STORE_ENGINE_H_INCLUDED


/* The library's own words, "LMDB 0.9.24: (July 24, 2019)"; static. */
const char *store_engine(void);
/* STORE_FORMAT, for those that do not see limits.h. */
unsigned store_format(void);


#endif /* STORE_ENGINE_H_INCLUDED */
