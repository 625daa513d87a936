#include <curl/curl.h>

// The library is loaded when it is first needed, not linked: loading it takes longer than most commands do. Its functions are called through
// the addresses that dlsym returns. These are for curl_easy_setopt, which is
// variadic: Swift cannot call it, and knows its address only as a pointer.

typedef CURLcode (*heartlog_curl_setopt)(CURL *handle, CURLoption option, ...);

static inline CURLcode heartlog_curl_set_long(
    void *set, CURL *handle, CURLoption option, long value) {
  return ((heartlog_curl_setopt)set)(handle, option, value);
}

static inline CURLcode heartlog_curl_set_size(
    void *set, CURL *handle, CURLoption option, long long value) {
  return ((heartlog_curl_setopt)set)(handle, option, (curl_off_t)value);
}

static inline CURLcode heartlog_curl_set_pointer(
    void *set, CURL *handle, CURLoption option, const void *value) {
  return ((heartlog_curl_setopt)set)(handle, option, value);
}

static inline CURLcode heartlog_curl_set_write(
    void *set, CURL *handle, CURLoption option, curl_write_callback value) {
  return ((heartlog_curl_setopt)set)(handle, option, value);
}

typedef CURLcode (*heartlog_curl_global_init)(long flags);
typedef CURL *(*heartlog_curl_easy_init)(void);
typedef void (*heartlog_curl_easy_done)(CURL *handle);
typedef const char *(*heartlog_curl_easy_strerror)(CURLcode code);
typedef struct curl_slist *(*heartlog_curl_slist_append)(struct curl_slist *list, const char *text);
typedef void (*heartlog_curl_slist_free_all)(struct curl_slist *list);
typedef CURLM *(*heartlog_curl_multi_init)(void);
typedef CURLMcode (*heartlog_curl_multi_cleanup)(CURLM *multi);
typedef CURLMcode (*heartlog_curl_multi_change)(CURLM *multi, CURL *handle);
typedef CURLMcode (*heartlog_curl_multi_perform)(CURLM *multi, int *running);
typedef CURLMcode (*heartlog_curl_multi_poll)(
    CURLM *multi, struct curl_waitfd *more, unsigned int count, int milliseconds, int *ready);
typedef CURLMsg *(*heartlog_curl_multi_info_read)(CURLM *multi, int *left);
