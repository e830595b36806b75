/*
 * tls.c - a certificate authority that lives as long as the process, and one certificate of it
 */
#include <arpa/inet.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "origin.h"

#define VALID_S (7L * 24 * 3600)

static bool add_extension(X509 *cert, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *ext;
	bool ok;

	X509V3_set_ctx_nodb(&ctx);
	X509V3_set_ctx(&ctx, cert, cert, NULL, NULL, 0);
	ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	ok = ext && X509_add_ext(cert, ext, -1) == 1;
	X509_EXTENSION_free(ext);
	return ok;
}

/* A certificate for key, named name: for hosts, signed by issuer, or (NULL) an authority's. */
static X509 *make_cert(EVP_PKEY *key, const char *name, const char *hosts, X509 *issuer,
		       EVP_PKEY *issuer_key, long serial)
{
	X509 *cert = X509_new();
	X509_NAME *subject;
	bool ok;

	if (!cert)
		return NULL;
	subject = X509_get_subject_name(cert);
	ok = X509_set_version(cert, 2) && ASN1_INTEGER_set(X509_get_serialNumber(cert), serial) &&
	     X509_gmtime_adj(X509_getm_notBefore(cert), -24L * 3600) &&
	     X509_gmtime_adj(X509_getm_notAfter(cert), VALID_S) && X509_set_pubkey(cert, key) &&
	     X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name,
					-1, -1, 0) &&
	     X509_set_issuer_name(cert, issuer ? X509_get_subject_name(issuer) : subject) &&
	     (issuer ? add_extension(cert, NID_subject_alt_name, hosts)
		     : add_extension(cert, NID_basic_constraints, "critical,CA:TRUE")) &&
	     X509_sign(cert, issuer ? issuer_key : key, EVP_sha256());
	if (!ok) {
		X509_free(cert);
		return NULL;
	}
	return cert;
}

static bool write_pem(const char *path, X509 *cert)
{
	FILE *f = fopen(path, "we");
	bool ok;

	if (!f)
		return false;
	ok = PEM_write_X509(f, cert) == 1;
	return fclose(f) == 0 && ok;
}

SSL_CTX *tls_make(const char *ca_file, struct in_addr address)
{
	char ip[INET_ADDRSTRLEN], hosts[sizeof("IP:,DNS:localhost") + sizeof(ip)];
	EVP_PKEY *ca_key = EVP_EC_gen("P-256"), *key = EVP_EC_gen("P-256");
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
	X509 *ca = NULL, *cert = NULL;
	bool ok = false;

	snprintf(hosts, sizeof(hosts), "IP:%s,DNS:localhost",
		 inet_ntop(AF_INET, &address, ip, sizeof(ip)));
	if (!ca_key || !key || !ctx)
		goto out;
	ca = make_cert(ca_key, "rgetfs test authority", NULL, NULL, NULL, 1);
	if (!ca)
		goto out;
	cert = make_cert(key, "localhost", hosts, ca, ca_key, 2);
	ok = cert && SSL_CTX_use_certificate(ctx, cert) == 1 &&
	     SSL_CTX_use_PrivateKey(ctx, key) == 1 && (!ca_file || write_pem(ca_file, ca));
out:
	if (!ok) {
		fprintf(stderr, "origin: no certificate for TLS%s%s\n", ca_file ? ", or no " : "",
			ca_file ? ca_file : "");
		SSL_CTX_free(ctx);
		ctx = NULL;
	}
	X509_free(cert);
	X509_free(ca);
	EVP_PKEY_free(key);
	EVP_PKEY_free(ca_key);
	return ctx;
}
