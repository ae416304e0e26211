/* quota.h: the CPU quota that Linux control groups give this process. */
#ifndef PZ_BASE_QUOTA_H
#define PZ_BASE_QUOTA_H

/* Cores, rounded up, of the tightest quota on the way from the process's group to the root; 0 where there is none.
 * membership: the text of /proc/self/cgroup; mount: where the control groups are mounted (/sys/fs/cgroup). */
int pz_quota_cores(const char *membership, const char *mount);

#endif
