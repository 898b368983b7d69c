/* no_tls.c -- libmicrohttpd without TLS, in the portable program
 *
 * Linked only there (cmake/portable.cmake), instead of GnuTLS and the six
 * libraries that it needs.  The servers here speak plain HTTP: libmicrohttpd
 * starts and ends GnuTLS, and calls nothing else of it. */
#include <stdlib.h>

int gnutls_global_init(void);
void gnutls_global_deinit(void);

int
gnutls_global_init(void)
{
    return 0;
}

void
gnutls_global_deinit(void)
{
}

#define ABSENT(name)                                                           \
    void name(void);                                                           \
    void name(void)                                                            \
    {                                                                          \
        abort();                                                               \
    }
ABSENT(gnutls_alpn_set_protocols)
ABSENT(gnutls_bye)
ABSENT(gnutls_certificate_allocate_credentials)
ABSENT(gnutls_certificate_free_credentials)
ABSENT(gnutls_certificate_server_set_request)
ABSENT(gnutls_certificate_set_dh_params)
ABSENT(gnutls_certificate_set_retrieve_function2)
ABSENT(gnutls_certificate_set_retrieve_function3)
ABSENT(gnutls_certificate_set_x509_key_mem)
ABSENT(gnutls_certificate_set_x509_key_mem2)
ABSENT(gnutls_certificate_set_x509_trust_mem)
ABSENT(gnutls_cipher_get)
ABSENT(gnutls_credentials_set)
ABSENT(gnutls_deinit)
ABSENT(gnutls_dh_params_deinit)
ABSENT(gnutls_dh_params_import_pkcs3)
ABSENT(gnutls_dh_params_init)
ABSENT(gnutls_handshake)
ABSENT(gnutls_init)
ABSENT(gnutls_malloc)
ABSENT(gnutls_priority_deinit)
ABSENT(gnutls_priority_init)
ABSENT(gnutls_priority_set)
ABSENT(gnutls_protocol_get_version)
ABSENT(gnutls_psk_allocate_server_credentials)
ABSENT(gnutls_psk_free_server_credentials)
ABSENT(gnutls_psk_set_server_credentials_function)
ABSENT(gnutls_record_check_pending)
ABSENT(gnutls_record_get_direction)
ABSENT(gnutls_record_recv)
ABSENT(gnutls_record_send)
ABSENT(gnutls_session_get_ptr)
ABSENT(gnutls_session_set_ptr)
ABSENT(gnutls_strerror)
ABSENT(gnutls_transport_set_int2)
