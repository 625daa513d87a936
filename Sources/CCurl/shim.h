#include <curl/curl.h>

// The library is loaded when it is first needed, not linked: loading it takes longer than most commands do.
