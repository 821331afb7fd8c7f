// SPDX-License-Identifier: GPL-2.0-or-later
#include "http_client/http_exchange.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/library/library.h"
#include "base/macros.h"

#ifdef HAVE_CURL

#include <curl/curl.h>

#define CONNECT_MS 5000l
#define RETRY_AFTER_MAX_S 3600

/* Functions of libcurl in use, named without "curl_". */
struct curl_calls {
	__typeof__(curl_global_init) *global_init;
	__typeof__(curl_easy_init) *easy_init;
	__typeof__(curl_easy_setopt) *setopt;
	__typeof__(curl_easy_perform) *perform;
	__typeof__(curl_easy_getinfo) *getinfo;
	__typeof__(curl_easy_strerror) *strerror;
	__typeof__(curl_easy_cleanup) *cleanup;
	__typeof__(curl_slist_append) *append;
	__typeof__(curl_slist_free_all) *free_all;
};

#define ROW(name, member) { "curl_" name, offsetof(struct curl_calls, member) }

static const struct library_symbol symbols[] = {
	ROW("global_init", global_init), ROW("easy_init", easy_init), ROW("easy_setopt", setopt),
	ROW("easy_perform", perform), ROW("easy_getinfo", getinfo), ROW("easy_strerror", strerror),
	ROW("easy_cleanup", cleanup), ROW("slist_append", append), ROW("slist_free_all", free_all),
};
_Static_assert(ARRAY_SIZE(symbols) * sizeof(void *) == sizeof(struct curl_calls), "a row per function");

static const struct library libcurl = {
	.name = "libcurl", .package = "libcurl3-gnutls", .files = { "libcurl-gnutls.so.4", "libcurl.so.4" },
	.symbols = symbols, .n = ARRAY_SIZE(symbols),
};

struct http_exchange {
	struct curl_calls f;
	CURL *curl;		    /* owned */
	struct curl_slist *headers; /* owned */
	struct curl_slist *first;   /* owned, in front of them; NULL = none */
	http_exchange_fn fn;	    /* of the request that runs */
	void *ctx;
	char error[CURL_ERROR_SIZE];
};

static size_t on_reply(char *data, size_t size, size_t n, void *ctx)
{
	struct http_exchange *x = ctx;

	return x->fn(x->ctx, data, size * n) < 0 ? 0 : size * n;
}

static bool set_headers(struct http_exchange *x, const char *const *headers)
{
	x->headers = x->f.append(NULL, "Expect:"); /* no "Expect: 100-continue" round trip */
	for (; x->headers && headers && *headers; headers++)
		if (!x->f.append(x->headers, *headers))
			return false;
	return x->headers;
}

static bool set_up(struct http_exchange *x, const struct http_exchange_opts *o)
{
	if (x->f.global_init(CURL_GLOBAL_DEFAULT) || !(x->curl = x->f.easy_init()))
		return false;
	return set_headers(x, o->headers) && !x->f.setopt(x->curl, CURLOPT_PROTOCOLS_STR, "http,https") &&
	       !x->f.setopt(x->curl, CURLOPT_HTTPHEADER, x->headers) &&
	       !x->f.setopt(x->curl, CURLOPT_USERAGENT, "sonde/" SONDE_VERSION) &&
	       !x->f.setopt(x->curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) &&
	       !x->f.setopt(x->curl, CURLOPT_NOSIGNAL, 1l) &&
	       !x->f.setopt(x->curl, CURLOPT_FRESH_CONNECT, o->once ? 1l : 0l) &&
	       !x->f.setopt(x->curl, CURLOPT_FORBID_REUSE, o->once ? 1l : 0l) &&
	       !x->f.setopt(x->curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS) &&
	       !x->f.setopt(x->curl, CURLOPT_TIMEOUT_MS, (long)o->answer_ms) &&
	       !x->f.setopt(x->curl, CURLOPT_WRITEFUNCTION, on_reply) &&
	       !x->f.setopt(x->curl, CURLOPT_WRITEDATA, x) && !x->f.setopt(x->curl, CURLOPT_ERRORBUFFER, x->error);
}

int http_exchange_new(const struct http_exchange_opts *o, struct http_exchange **ret, char why[HTTP_EXCHANGE_WHY])
{
	struct http_exchange *x = calloc(1, sizeof(*x));
	struct err err = { .msg = "libcurl cannot be set up" };

	if (!x || library_load(&libcurl, &x->f, &err) < 0 || !set_up(x, o)) {
		snprintf(why, HTTP_EXCHANGE_WHY, "%.100s", err.msg);
		http_exchange_free(x);
		return -ENOSYS;
	}
	*ret = x;
	return 0;
}

static void drop_first(struct http_exchange *x)
{
	if (!x->first)
		return;
	x->first->next = NULL;
	x->f.free_all(x->first);
	x->first = NULL;
}

void http_exchange_free(struct http_exchange *x)
{
	if (!x)
		return;
	if (x->curl)
		x->f.cleanup(x->curl);
	drop_first(x);
	if (x->headers)
		x->f.free_all(x->headers);
	free(x);
}

int http_exchange_header(struct http_exchange *x, const char *header)
{
	struct curl_slist *first = x->f.append(NULL, header);

	if (!first)
		return -ENOMEM;
	drop_first(x);
	first->next = x->headers;
	x->first = first;
	return x->f.setopt(x->curl, CURLOPT_HTTPHEADER, first) ? -ENOMEM : 0;
}

long http_exchange_post(struct http_exchange *x, const char *url, const void *data, size_t len, http_exchange_fn fn,
			void *ctx, char why[HTTP_EXCHANGE_WHY])
{
	CURLcode r;
	long code = 0;

	x->fn = fn;
	x->ctx = ctx;
	x->error[0] = 0;
	x->f.setopt(x->curl, CURLOPT_URL, url);
	x->f.setopt(x->curl, CURLOPT_POSTFIELDS, data);
	x->f.setopt(x->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
	r = x->f.perform(x->curl);
	if (r) {
		snprintf(why, HTTP_EXCHANGE_WHY, "%.100s", x->error[0] ? x->error : x->f.strerror(r));
		return 0;
	}
	x->f.getinfo(x->curl, CURLINFO_RESPONSE_CODE, &code);
	snprintf(why, HTTP_EXCHANGE_WHY, "the server answered with HTTP status %ld", code);
	return code;
}

uint64_t http_exchange_retry_after_ns(struct http_exchange *x)
{
	curl_off_t after = 0;

	if (x->f.getinfo(x->curl, CURLINFO_RETRY_AFTER, &after) || after <= 0)
		return 0;
	return MIN((uint64_t)after, (uint64_t)RETRY_AFTER_MAX_S) * 1000000000;
}

#else

int http_exchange_new(_unused_ const struct http_exchange_opts *o, _unused_ struct http_exchange **ret,
		      char why[HTTP_EXCHANGE_WHY])
{
	snprintf(why, HTTP_EXCHANGE_WHY, "this build has no HTTP (meson setup -Dotlp=enabled)");
	return -ENOSYS;
}

void http_exchange_free(_unused_ struct http_exchange *x)
{
}

long http_exchange_post(_unused_ struct http_exchange *x, _unused_ const char *url, _unused_ const void *data,
			_unused_ size_t len, _unused_ http_exchange_fn fn, _unused_ void *ctx,
			char why[HTTP_EXCHANGE_WHY])
{
	why[0] = '\0';
	return 0;
}

int http_exchange_header(_unused_ struct http_exchange *x, _unused_ const char *header)
{
	return -ENOSYS;
}

uint64_t http_exchange_retry_after_ns(_unused_ struct http_exchange *x)
{
	return 0;
}

#endif
