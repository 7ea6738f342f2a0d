// Libraries of ours bring GnuTLS along for LDAP and RTMP, which nothing here speaks: its set-up at
// load, almost 1 MiB of resident memory, is left to whoever uses it after all (both ask for it).
// GnuTLS looks for this function in the program; without GnuTLS nobody does.
extern "C" __attribute__((visibility("default"))) int _gnutls_global_init_skip() { return 1; }
