#include <qrencode.h>

// The library is loaded when a QR code is shown, not linked. These are its functions, called through the addresses that dlsym returns.

typedef QRcode *(*heartlog_qr_encode)(
    const char *text, int version, QRecLevel level, QRencodeMode hint, int is_case_sensitive);
typedef void (*heartlog_qr_free)(QRcode *code);
