/*
 * test_url.c - origins, what may be shown, names, references, addresses
 */
#include "core/url.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "suite.h"

static const struct {
	const char *url;
	const char *scheme, *host; /* NULL: refused */
	unsigned int port;
} origins[] = {
	{"http://example.com", "http", "example.com", 80},
	{"HTTPS://EXAMPLE.com/A?b#c", "https", "example.com", 443},
	{"http://example.com:8080/", "http", "example.com", 8080},
	{"http://example.com:/", "http", "example.com", 80},
	{"ftp://h/x", "ftp", "h", 21},
	{"ftps://h/x", "ftps", "h", 990},
	{"sftp://user@h/x", "sftp", "h", 22},
	{"http://u:p@h:81/x", "http", "h", 81},
	{"http://u:p@w@h/x", "http", "h", 80},
	{"http://[::1]:81/x", "http", "[::1]", 81},
	{"http://[0:0::0001]/x", "http", "[::1]", 80},
	{"http://h?q", "http", "h", 80},
	{"http://h#@other", "http", "h", 80},
	{"http://h/@other", "http", "h", 80},
	{"http://b\xc3\xbc"
	 "cher.example/",
	 "http",
	 "b\xc3\xbc"
	 "cher.example",
	 80},
	{"http://", NULL, NULL, 0},
	{"http:///x", NULL, NULL, 0},
	{"http://@/x", NULL, NULL, 0},
	{"http://:80/x", NULL, NULL, 0},
	{"http:h/x", NULL, NULL, 0},
	{"//h/x", NULL, NULL, 0},
	{"h/x", NULL, NULL, 0},
	{"", NULL, NULL, 0},
	{"file:///etc/passwd", NULL, NULL, 0},
	{"gopher://h/", NULL, NULL, 0},
	{"javascript://h/", NULL, NULL, 0},
	{"httpx://h/", NULL, NULL, 0},
	{"http://h:0/", NULL, NULL, 0},
	{"http://h:65536/", NULL, NULL, 0},
	{"http://h:8o/", NULL, NULL, 0},
	{"http://h:+80/", NULL, NULL, 0},
	{"http://h:80:80/", NULL, NULL, 0},
	{"http://h:00000080/", NULL, NULL, 0},
	{"http://good.example\\@evil.example/", NULL, NULL, 0},
	{"http://%65vil.example/", NULL, NULL, 0},
	{"http://a b/", NULL, NULL, 0},
	{"http://h/a b", NULL, NULL, 0},
	{"http://h/a\r\nX: y", NULL, NULL, 0},
	{"http://h/\x7f", NULL, NULL, 0},
	{"http://[::1/x", NULL, NULL, 0},
	{"http://[::1]x/", NULL, NULL, 0},
	{"http://[]/", NULL, NULL, 0},
	{"http://[fe80::1%25eth0]/", NULL, NULL, 0},
	{"http://[1.2.3.4]/", NULL, NULL, 0},
};

START_TEST(origin_table)
{
	struct url_origin o = {.port = 7};
	int r = url_origin(origins[_i].url, &o);

	if (!origins[_i].host) {
		ck_assert_msg(r == -EINVAL, "%s", origins[_i].url);
		ck_assert_uint_eq(o.port, 7);
		return;
	}
	ck_assert_msg(r == 0, "%s", origins[_i].url);
	ck_assert_str_eq(o.scheme, origins[_i].scheme);
	ck_assert_str_eq(o.host, origins[_i].host);
	ck_assert_uint_eq(o.port, origins[_i].port);
}
END_TEST

START_TEST(too_long_is_refused)
{
	char url[URL_MAX + 2];
	struct url_origin o;

	memset(url, 'a', sizeof(url));
	memcpy(url, "http://h/", 9);
	url[URL_MAX + 1] = '\0';
	ck_assert_int_eq(url_origin(url, &o), -EINVAL);
	url[URL_MAX] = '\0';
	ck_assert_int_eq(url_origin(url, &o), 0);
	memset(url + 7, 'h', URL_HOST_MAX);
	url[7 + URL_HOST_MAX] = '\0';
	ck_assert_int_eq(url_origin(url, &o), -EINVAL);
}
END_TEST

START_TEST(origins_are_scheme_host_and_port)
{
	struct url_origin a;
	struct url_origin b;

	ck_assert_int_eq(url_origin("http://h/x", &a), 0);
	ck_assert_int_eq(url_origin("http://H:80/y", &b), 0);
	ck_assert(url_origin_equal(&a, &b));
	ck_assert_int_eq(url_origin("https://h:80/x", &b), 0);
	ck_assert(!url_origin_equal(&a, &b));
	ck_assert_int_eq(url_origin("http://h:81/x", &b), 0);
	ck_assert(!url_origin_equal(&a, &b));
	ck_assert_int_eq(url_origin("http://g/x", &b), 0);
	ck_assert(!url_origin_equal(&a, &b));
}
END_TEST

#define DOTS "\xe2\x80\xa6"

static const struct {
	const char *url, *shown;
} redactions[] = {
	{"https://h/a/b", "https://h/a/b"},
	{"https://u:p@h:8/a", "https://h:8/a"},
	{"https://u:p@q@h/a", "https://h/a"},
	{"https://h/a?sig=SECRET&x=1", "https://h/a?sig=" DOTS "&x=" DOTS},
	{"https://h/a?SECRET", "https://h/a?" DOTS},
	{"https://h/a?x=SECRET=more", "https://h/a?x=" DOTS},
	{"https://h/a?", "https://h/a?"},
	{"https://h/a?x=1#token=SECRET", "https://h/a?x=" DOTS},
	{"https://h/a\x1b[2J", "https://h/a?[2J"},
	{"u:SECRET@h/x", "(not a URL)"},
	{"", "(not a URL)"},
};

START_TEST(redaction_table)
{
	char buf[200];

	url_redact(redactions[_i].url, buf, sizeof(buf));
	ck_assert_str_eq(buf, redactions[_i].shown);
}
END_TEST

START_TEST(redacted_text_is_cut_between_characters)
{
	char buf[16];

	url_redact("https://h/a?x=1", buf, sizeof(buf)); /* 14 bytes and one of the ellipsis */
	ck_assert_str_eq(buf, "https://h/a?x=");
	url_redact("https://h/\xc3\xa4\xc3\xa4", buf, 12);
	ck_assert_str_eq(buf, "https://h/");
	url_redact("https://h/", buf, 1);
	ck_assert_str_eq(buf, "");
}
END_TEST

START_TEST(user_info_is_no_identity)
{
	char *s = url_without_userinfo("http://u:p@h:80/a?b#c");

	ck_assert_str_eq(s, "http://h:80/a?b#c");
	free(s);
	s = url_without_userinfo("http://h/a@b");
	ck_assert_str_eq(s, "http://h/a@b");
	free(s);
	s = url_without_userinfo("no url");
	ck_assert_str_eq(s, "no url");
	free(s);
}
END_TEST

/* RFC 3986 5.4, without fragments; and what servers send. */
static const struct {
	const char *location, *url;
} references[] = {
	{"g:h", "g:h"},
	{"g", "http://a/b/c/g"},
	{"./g", "http://a/b/c/g"},
	{"g/", "http://a/b/c/g/"},
	{"/g", "http://a/g"},
	{"//g", "http://g"},
	{"?y", "http://a/b/c/d;p?y"},
	{"g?y", "http://a/b/c/g?y"},
	{"#s", "http://a/b/c/d;p?q"},
	{"g#s", "http://a/b/c/g"},
	{"g?y#s", "http://a/b/c/g?y"},
	{";x", "http://a/b/c/;x"},
	{"g;x?y", "http://a/b/c/g;x?y"},
	{"", "http://a/b/c/d;p?q"},
	{".", "http://a/b/c/"},
	{"./", "http://a/b/c/"},
	{"..", "http://a/b/"},
	{"../", "http://a/b/"},
	{"../g", "http://a/b/g"},
	{"../..", "http://a/"},
	{"../../", "http://a/"},
	{"../../g", "http://a/g"},
	{"../../../g", "http://a/g"},
	{"../../../../g", "http://a/g"},
	{"/./g", "http://a/g"},
	{"/../g", "http://a/g"},
	{"g.", "http://a/b/c/g."},
	{".g", "http://a/b/c/.g"},
	{"g..", "http://a/b/c/g.."},
	{"..g", "http://a/b/c/..g"},
	{"./../g", "http://a/b/g"},
	{"./g/.", "http://a/b/c/g/"},
	{"g/./h", "http://a/b/c/g/h"},
	{"g/../h", "http://a/b/c/h"},
	{"g;x=1/./y", "http://a/b/c/g;x=1/y"},
	{"g;x=1/../y", "http://a/b/c/y"},
	{"g?y/./x", "http://a/b/c/g?y/./x"},
	{"g?y/../x", "http://a/b/c/g?y/../x"},
	{"https://other:8/x/../y?z", "https://other:8/y?z"},
	{"https://other", "https://other"},
	{"/a//../b", "http://a/a/b"},
	{"a b\xc3\xa4", "http://a/b/c/a%20b%C3%A4"},
	{"http://b\xc3\xbc.example/\xc3\xbc", "http://b\xc3\xbc.example/%C3%BC"},
	{"/x:y", "http://a/x:y"},
	{"1:2", "http://a/b/c/1:2"},
};

START_TEST(resolve_table)
{
	char buf[200];

	ck_assert_int_eq(url_resolve("http://a/b/c/d;p?q", references[_i].location, buf,
				     sizeof(buf)),
			 0);
	ck_assert_msg(strcmp(buf, references[_i].url) == 0, "%s: %s", references[_i].location, buf);
}
END_TEST

START_TEST(resolve_at_the_edges)
{
	char buf[200] = "untouched";
	char location[URL_MAX + 10];

	ck_assert_int_eq(url_resolve("http://a", "g", buf, sizeof(buf)), 0);
	ck_assert_str_eq(buf, "http://a/g");
	ck_assert_int_eq(url_resolve("http://a", "", buf, sizeof(buf)), 0);
	ck_assert_str_eq(buf, "http://a");
	ck_assert_int_eq(url_resolve("http://a?q", "?y", buf, sizeof(buf)), 0);
	ck_assert_str_eq(buf, "http://a?y");
	ck_assert_int_eq(url_resolve("a/b", "g", buf, sizeof(buf)), -EINVAL);
	ck_assert_int_eq(url_resolve("http://a/", "g\r\nX: y", buf, sizeof(buf)), -EINVAL);
	ck_assert_int_eq(url_resolve("http://a/", "ggggg", buf, 14), -ENOBUFS);
	ck_assert_int_eq(url_resolve("http://a/", "gggg", buf, 14), 0);
	memset(location, 'x', sizeof(location));
	location[sizeof(location) - 1] = '\0';
	ck_assert_int_eq(url_resolve("http://a/", location, buf, sizeof(buf)), -ENOBUFS);
	ck_assert_str_eq(buf, "http://a/gggg");
}
END_TEST

static const struct {
	const char *text;
	enum addr_scope scope;
} addresses[] = {
	{"93.184.216.34", ADDR_PUBLIC},
	{"127.0.0.1", ADDR_LOOPBACK},
	{"127.255.255.254", ADDR_LOOPBACK},
	{"0.0.0.0", ADDR_UNSPECIFIED},
	{"0.1.2.3", ADDR_UNSPECIFIED},
	{"10.0.0.1", ADDR_PRIVATE},
	{"11.0.0.1", ADDR_PUBLIC},
	{"172.15.255.255", ADDR_PUBLIC},
	{"172.16.0.0", ADDR_PRIVATE},
	{"172.31.255.255", ADDR_PRIVATE},
	{"172.32.0.0", ADDR_PUBLIC},
	{"192.168.1.1", ADDR_PRIVATE},
	{"100.63.255.255", ADDR_PUBLIC},
	{"100.64.0.1", ADDR_PRIVATE},
	{"100.127.255.255", ADDR_PRIVATE},
	{"100.128.0.0", ADDR_PUBLIC},
	{"169.254.169.254", ADDR_LINK_LOCAL},
	{"224.0.0.1", ADDR_PRIVATE},
	{"255.255.255.255", ADDR_PRIVATE},
	{"2606:2800:220:1::1", ADDR_PUBLIC},
	{"::", ADDR_UNSPECIFIED},
	{"::1", ADDR_LOOPBACK},
	{"::127.0.0.1", ADDR_LOOPBACK},
	{"fe80::1", ADDR_LINK_LOCAL},
	{"febf::1", ADDR_LINK_LOCAL},
	{"fec0::1", ADDR_PRIVATE},
	{"fc00::1", ADDR_PRIVATE},
	{"fd00:ec2::254", ADDR_PRIVATE},
	{"fe00::1", ADDR_PUBLIC},
	{"ff02::1", ADDR_PRIVATE},
	{"::ffff:127.0.0.1", ADDR_LOOPBACK},
	{"::ffff:93.184.216.34", ADDR_PUBLIC},
	{"::ffff:169.254.169.254", ADDR_LINK_LOCAL},
	{"2002:7f00:1::", ADDR_LOOPBACK},
	{"2002:5db8:d822::1", ADDR_PUBLIC},
	{"2002:c0a8:101::", ADDR_PRIVATE},
	{"2001:0:5ef5:79fb:0:0:3f57:fefe", ADDR_PRIVATE}, /* Teredo client 192.168.1.1 */
	{"64:ff9b::10.0.0.1", ADDR_PRIVATE},
	{"64:ff9b::93.184.216.34", ADDR_PUBLIC},
	{"64:ff9b::169.254.169.254", ADDR_LINK_LOCAL},
	{"64:ff9b:1::1", ADDR_PRIVATE},
};

START_TEST(address_table)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
	const struct sockaddr *sa = (const struct sockaddr *)&in;

	if (inet_pton(AF_INET, addresses[_i].text, &in.sin_addr) != 1) {
		ck_assert_int_eq(inet_pton(AF_INET6, addresses[_i].text, &in6.sin6_addr), 1);
		sa = (const struct sockaddr *)&in6;
	}
	ck_assert_msg(addr_scope(sa) == addresses[_i].scope, "%s: %d", addresses[_i].text,
		      (int)addr_scope(sa));
}
END_TEST

START_TEST(other_families_are_near)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};

	ck_assert_int_eq(addr_scope((const struct sockaddr *)&un), ADDR_LOOPBACK);
}
END_TEST

static void fill(TCase *tc)
{
	tcase_add_loop_test(tc, origin_table, 0, ARRAY_SIZE(origins));
	tcase_add_test(tc, too_long_is_refused);
	tcase_add_test(tc, origins_are_scheme_host_and_port);
	tcase_add_loop_test(tc, redaction_table, 0, ARRAY_SIZE(redactions));
	tcase_add_test(tc, redacted_text_is_cut_between_characters);
	tcase_add_test(tc, user_info_is_no_identity);
	tcase_add_loop_test(tc, resolve_table, 0, ARRAY_SIZE(references));
	tcase_add_test(tc, resolve_at_the_edges);
	tcase_add_loop_test(tc, address_table, 0, ARRAY_SIZE(addresses));
	tcase_add_test(tc, other_families_are_near);
}

int main(void)
{
	return suite_run("url", fill);
}
