/*
 * trust.c - has somebody else changed a backing file?
 *
 * The map says what we wrote; a file that is shortened, punched or written over by somebody else
 * says otherwise, and a hole reads as zeros. So the file is looked at after each read of it, before
 * the bytes are given to anybody, and before each write of ours: when its length is not what we
 * gave it, or its ctime not what our last change left, then all blocks of the version are
 * unverified, so that each is compared with its checksum before it is served again, and the file
 * gets its length back.
 *
 * A ctime proves something only while we do not change the file ourselves: it is taken down when
 * the last of our changes is over, and not compared while one runs. What somebody else does in that
 * time alone goes unseen, unless the length tells or, of holes, the count of blocks. Kernels before
 * 6.13 count a ctime in ticks: two changes in one are one to us there.
 */
#include <inttypes.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/store_priv.h"

void trust_look_locked(struct version *v, const struct backing *b, struct trust_look *ret)
{
	*ret = (struct trust_look){.size = atomic_load(&b->size),
				   .writes = v->trust.writes,
				   .lost = v->trust.lost,
				   .known = v->trust.known && v->trust.ino == b->ino};
}

/*
 * Does it have fewer blocks than the map speaks of, and fewer than when that was last found out?
 * Then somebody punched it, perhaps while we wrote. What was found so far goes from the map as it
 * is read.
 */
static bool punched_locked(struct version *v, const struct trust_look *l)
{
	uint64_t present = extmap_bytes(v->map), have = (uint64_t)l->st.st_blocks * 512;
	uint64_t holes = present > have ? present - have : 0, before = v->trust.holes;

	if (!v->store->cache.counts_blocks || v->trust.writing || l->writes != v->trust.writes)
		return false;
	v->trust.holes = holes;
	return holes > before;
}

/* Did somebody else change the file since l? */
static bool changed_locked(struct version *v, const struct trust_look *l, uint64_t end)
{
	uint64_t have = (uint64_t)l->st.st_size;

	if (l->failed)
		return false; /* then the read tells */
	if (l->size ? have != l->size : have < end)
		return true;
	if (punched_locked(v, l))
		return true;
	return l->known && l->writes == v->trust.writes &&
	       (l->st.st_ctim.tv_sec != v->trust.stamp.tv_sec ||
		l->st.st_ctim.tv_nsec != v->trust.stamp.tv_nsec);
}

static void lose_locked(struct version *v)
{
	extmap_set_unverified(v->map);
	v->trust.lost++;
}

static void lose_by_locked(struct version *v, struct trust_look *l)
{
	lose_locked(v);
	/* What is verified from now on is so after this change. */
	if (l->known && l->writes == v->trust.writes)
		v->trust.stamp = l->st.st_ctim;
	l->damaged = true;
}

void trust_stat(struct backing *b, struct trust_look *l)
{
	l->failed = backing_stat(b, &l->st) < 0;
}

bool trust_holds_locked(struct version *v, struct trust_look *l, uint64_t end)
{
	if (l->lost != v->trust.lost)
		return false;
	if (!changed_locked(v, l, end))
		return true;
	lose_by_locked(v, l);
	return false;
}

/* Say it, and give the file its length again, so that it is the recorded one after a remount. */
static void mend(struct version *v, struct backing *b, const struct trust_look *l)
{
	static struct log_limit limit;
	uint64_t dropped;
	int r;

	if (log_limit_pass(&limit, clock_now_us(), &dropped))
		log_warn("%s (%" PRIx64
			 ") was changed by somebody else: its blocks are checked again",
			 store_file(v->store), v->id);
	if (!l->size || (uint64_t)l->st.st_size == l->size)
		return;
	mtx_lock(&v->lock);
	v->trust.mended = true;
	mtx_unlock(&v->lock);
	r = backing_set_size(b, l->size);
	if (r < 0) {
		log_warn("%s can't get its length again: %s", store_file(v->store), strerror(-r));
		atomic_store(&b->size, 0);
	}
}

void trust_mend(struct version *v, struct backing *b, const struct trust_look *l)
{
	trust_write_begin(v, b);
	mend(v, b, l);
	trust_write_end(v, b);
}

void trust_write_begin(struct version *v, struct backing *b)
{
	struct trust_look l;

	mtx_lock(&v->lock);
	trust_look_locked(v, b, &l);
	mtx_unlock(&v->lock);
	trust_stat(b, &l);
	mtx_lock(&v->lock);
	trust_holds_locked(v, &l, 0);
	v->trust.writing++;
	v->trust.writes++;
	v->trust.known = false;
	mtx_unlock(&v->lock);
	if (l.damaged)
		mend(v, b, &l);
}

void trust_write_end(struct version *v, struct backing *b)
{
	struct trust_look l;

	mtx_lock(&v->lock);
	v->trust.writing--;
	trust_look_locked(v, b, &l);
	mtx_unlock(&v->lock);
	trust_stat(b, &l);
	mtx_lock(&v->lock);
	if (v->trust.writing == 0 && v->trust.writes == l.writes) {
		trust_known_locked(v, b, &l);
		/* It may have been shortened once more before it was made longer. */
		if (v->trust.mended || (!l.failed && punched_locked(v, &l)))
			lose_locked(v);
		v->trust.mended = false;
	}
	mtx_unlock(&v->lock);
}

void trust_known_locked(struct version *v, const struct backing *b, const struct trust_look *l)
{
	if (l->failed || v->store->cache.network)
		return; /* a server's ctime changes when it writes back */
	v->trust.stamp = l->st.st_ctim;
	v->trust.ino = b->ino;
	v->trust.known = true;
}
