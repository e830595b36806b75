/*
 * test_inventory.c - caches under a root: listed, checked, removed
 */
#include <check.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "store/inventory.h"
#include "store_util.h"

#define MIB  (UINT64_C(1) << 20)
#define SIZE (2 * MIB)

static char root[DIR_MAX], dir[DIR_MAX * 2];
static struct store_config cfg;
static struct store *s;
static unsigned int said;
static char last_said[INVENTORY_TEXT_MAX];

static void fill(void)
{
	struct object_key key = test_key(1);
	struct validator val = test_validator(1, SIZE);
	struct version *v = NULL;

	ck_assert_int_eq(store_version_open(s, &key, &val, SIZE, false, &v), 0);
	ck_assert_int_eq(test_write(v, 0, MIB, 1, 1), 0);
	version_put(v);
	ck_assert_int_eq(store_checkpoint(s), 0);
}

static void setup(void)
{
	temp_dir(root);
	snprintf(dir, sizeof(dir), "%s/list-1", root);
	cfg = test_config(dir);
	cfg.description = "list.txt on /mnt/x";
	s = test_open(&cfg);
	fill();
	said = 0;
}

static void teardown(void)
{
	if (s)
		store_close(s);
	s = NULL;
}

static void end_use(void)
{
	struct store *closing = s;

	s = NULL;
	ck_assert_int_eq(store_close(closing), 0);
}

static int keep_item(void *ctx, const struct inventory_item *item)
{
	struct inventory_item *kept = ctx;

	kept[said++] = *item;
	return 0;
}

static void say(void *ctx, const char *text)
{
	(void)ctx;
	said++;
	snprintf(last_said, sizeof(last_said), "%s", text);
}

START_TEST(list)
{
	struct inventory_item item[4];
	char path[DIR_MAX * 3];

	/* Neither of these is a cache. */
	snprintf(path, sizeof(path), "%s/other", root);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/file", root);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	ck_assert_int_eq(inventory_each(root, keep_item, item), 0);
	ck_assert_uint_eq(said, 1);
	ck_assert(item[0].used);
	ck_assert_ptr_nonnull(strstr(item[0].owner, "list.txt on /mnt/x"));
	ck_assert_str_eq(item[0].description, "list.txt on /mnt/x");
	ck_assert_uint_eq(item[0].files, 1);
	ck_assert_uint_ge(item[0].bytes, MIB);
	end_use();
	said = 0;
	ck_assert_int_eq(inventory_each(root, keep_item, item), 0);
	ck_assert(!item[0].used);
	ck_assert_str_eq(item[0].description, "list.txt on /mnt/x");
	ck_assert_int_eq(inventory_each("/nowhere/at/all", keep_item, item), -ENOENT);
}
END_TEST

START_TEST(check_good_and_bad)
{
	char owner[INVENTORY_TEXT_MAX] = "", path[DIR_MAX * 2];
	struct inventory_report rep;
	int fd;

	ck_assert_int_eq(inventory_check(root, "list-1", true, say, NULL, &rep, owner), -EBUSY);
	ck_assert_ptr_nonnull(strstr(owner, " on "));
	ck_assert_int_eq(inventory_check(root, "none", true, say, NULL, &rep, owner), -ENOENT);
	ck_assert_int_eq(inventory_check(root, "../list-1", true, say, NULL, &rep, owner), -ENOENT);
	end_use();
	ck_assert_int_eq(inventory_check(root, "list-1", true, say, NULL, &rep, owner), 0);
	ck_assert_uint_eq(rep.problems, 0);
	ck_assert_uint_eq(rep.objects, 1);
	ck_assert_uint_eq(rep.versions, 1);
	ck_assert_uint_eq(rep.bytes_claimed, MIB);
	ck_assert_uint_eq(rep.blocks_checked, MIB / BLOCK_SIZE);

	ck_assert(backing_path(dir, path));
	fd = open(path, O_WRONLY);
	ck_assert_int_eq(pwrite(fd, "wrong", 5, 70000), 5);
	close(fd);
	ck_assert_int_eq(inventory_check(root, "list-1", false, say, NULL, &rep, owner), 0);
	ck_assert_uint_eq(rep.problems, 0);
	ck_assert_int_eq(inventory_check(root, "list-1", true, say, NULL, &rep, owner), 0);
	ck_assert_uint_eq(rep.problems, 1);
	ck_assert_uint_eq(rep.blocks_bad, 1);
	unlink(path);
	ck_assert_int_eq(inventory_check(root, "list-1", false, say, NULL, &rep, owner), 0);
	ck_assert_uint_eq(rep.problems, 1);
	ck_assert_ptr_nonnull(strstr(last_said, "is missing"));
	snprintf(path, sizeof(path), "%.400s/extents.db", dir);
	fd = open(path, O_WRONLY);
	ck_assert_int_eq(pwrite(fd, "wrong", 5, 0), 5);
	close(fd);
	ck_assert_int_eq(inventory_check(root, "list-1", false, say, NULL, &rep, owner), 0);
	ck_assert_uint_eq(rep.problems, 1);
	ck_assert_ptr_nonnull(strstr(last_said, "damaged"));
}
END_TEST

START_TEST(remove_only_what_is_unused_and_ours)
{
	char owner[INVENTORY_TEXT_MAX] = "", path[DIR_MAX * 3];
	struct inventory_item item[4];

	ck_assert_int_eq(inventory_remove(root, "list-1", owner), -EBUSY);
	snprintf(path, sizeof(path), "%s/other", root);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert_int_eq(inventory_remove(root, "other", owner), -ENOENT);
	ck_assert_int_eq(inventory_remove(root, "..", owner), -ENOENT);
	ck_assert_int_eq(access(path, F_OK), 0);
	end_use();
	ck_assert_int_eq(inventory_remove(root, "list-1", owner), 0);
	ck_assert_int_ne(access(dir, F_OK), 0);
	ck_assert_int_eq(inventory_each(root, keep_item, item), 0);
	ck_assert_uint_eq(said, 0);
	/* And a new one can be made in its place. */
	s = test_open(&cfg);
	fill();
}
END_TEST

static Suite *suite(void)
{
	Suite *st = suite_create("inventory");
	TCase *tc = tcase_create("inventory");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, list);
	tcase_add_test(tc, check_good_and_bad);
	tcase_add_test(tc, remove_only_what_is_unused_and_ours);
	suite_add_tcase(st, tc);
	return st;
}

int main(void)
{
	return test_main(suite());
}
