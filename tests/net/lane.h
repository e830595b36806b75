/*
 * lane.h - one direction of an emulated link: what becomes of a packet, and when it arrives
 *
 * A packet meets, in this order: random loss, a drop-tail queue in bytes before the serialiser,
 * the serialiser, and the delay. Time is an argument; there is no I/O, no thread and no clock here.
 */
#ifndef NET_LANE_H
#define NET_LANE_H

#include <bsd/sys/queue.h>

#include "base/base.h"

/* As long as a packet may be; the devices' MTU is at most that. */
#define PACKET_MAX 1500

struct packet {
	STAILQ_ENTRY(packet) entry;
	uint64_t due_ns; /* when its last byte arrives */
	size_t len;
	unsigned char data[PACKET_MAX];
};
STAILQ_HEAD(packets, packet);

struct lane_shape {
	uint64_t delay_ns;
	uint64_t rate;	      /* bytes of packets a second; 0: no limit */
	uint64_t queue_bytes; /* what may wait for the serialiser; at most LANE_QUEUE_MAX */
	double loss;	      /* probability */
};
#define LANE_QUEUE_MAX (UINT64_C(1) << 30)

struct lane_count {
	uint64_t packets, bytes;
};

#define LATE_BUCKET_US UINT64_C(10)
#define LATE_BUCKETS   10001 /* the last: 100 ms and more */

struct lane {
	struct lane_shape shape;
	struct packets on_way; /* in the order in which they arrive */
	uint64_t on_way_bytes;
	uint64_t random;  /* state of the generator */
	uint64_t free_ns; /* when the serialiser is done with what it has */

	struct lane_count entered, delivered, dropped, lost;
	uint64_t queue_peak; /* most bytes that waited at once */
	uint64_t late[LATE_BUCKETS];
	uint64_t late_max_us;
};

void lane_init(struct lane *l, const struct lane_shape *shape, uint64_t seed);
/* Frees what is on its way. */
void lane_done(struct lane *l);

/*
 * p arrives at the lane now. True: it is on its way and the lane's. False: it was lost or dropped,
 * counted as such, and is still the caller's. Whether the n-th packet is lost depends on seed and n
 * alone.
 */
bool lane_enter(struct lane *l, struct packet *p, uint64_t now_ns);

/* When the next packet is due; UINT64_MAX: there is none. */
uint64_t lane_next_ns(const struct lane *l);

/*
 * The next packet, now the caller's, if it is due by now or up to early_ns later; NULL: none is.
 * What comes out after its time counts as late.
 */
struct packet *lane_leave(struct lane *l, uint64_t now_ns, uint64_t early_ns);

/* So many of 1000 deliveries were at most so late; early ones count as 0. To 10 us. */
uint64_t lane_late_us(const struct lane *l, unsigned int per_mille);

#endif
