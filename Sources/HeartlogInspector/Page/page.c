#include "include/page.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char html[] = {
#embed "index.html"
};
static const unsigned char css[] = {
#embed "page.css"
};
static const unsigned char source[] = {
#embed "source.js"
};
static const unsigned char file[] = {
#embed "file.js"
};
static const unsigned char libraries[] = {
#embed "libraries.js"
};
static const unsigned char pages[] = {
#embed "pages.js"
};
static const unsigned char screen[] = {
#embed "screen.js"
};

static const struct heartlog_page_file files[] = {
    {"index.html", html, sizeof html},   {"page.css", css, sizeof css},       {"source.js", source, sizeof source},
    {"file.js", file, sizeof file},      {"libraries.js", libraries, sizeof libraries},
    {"pages.js", pages, sizeof pages},   {"screen.js", screen, sizeof screen},
};

const struct heartlog_page_file *heartlog_page_file(size_t index) {
  return index < sizeof files / sizeof files[0] ? &files[index] : NULL;
}
