/*
 * The adapter, continued: what the store is made of.
 */

#include "ngx_http_session_store.h"
#include "engine.h"


const char *
ngx_http_session_store_engine(void)
{
    return store_engine();
}


ngx_uint_t
ngx_http_session_store_format(void)
{
    return store_format();
}
