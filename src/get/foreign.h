/*
 * foreign.h - what other downloaders have left of a file
 */
#ifndef GET_FOREIGN_H
#define GET_FOREIGN_H

#include "core/rangeset.h"

enum foreign_kind {
	FOREIGN_NONE,
	FOREIGN_ARIA2,	/* NAME, and NAME.aria2 that says what of it has come */
	FOREIGN_PREFIX, /* the beginning of the file by its name: wget, curl */
};
#define FOREIGN_ARIA2_SUFFIX ".aria2"
#define FOREIGN_WHY_MAX	     256

/*
 * Which bytes of a file of size have come, by the control file of aria2 in data ("The control file
 * format" of its manual, version 1). 0; -ENOMEM; -EINVAL with *why: it is none, or of a file of
 * another size. Pure.
 */
int foreign_parse_aria2(const unsigned char *data, size_t len, uint64_t size, struct rangeset *ret,
			char why[FOREIGN_WHY_MAX]);
/*
 * The same of name in dirfd, which is length long. 0; -ENOENT: nothing of that kind was left there;
 * -errno with *why.
 */
int foreign_parts(int dirfd, const char *name, enum foreign_kind kind, uint64_t length,
		  uint64_t size, struct rangeset *ret, char why[FOREIGN_WHY_MAX]);

#endif
