/*
 * local_socket.c: the Unix-domain socket of a node that is on this very host.
 *
 * TCP over loopback costs twice what a Unix-domain socket does. A node whose address is a
 * loopback address is reached through its socket instead, if it is certain to be the
 * server that listens at that address:
 *
 * - the socket of that port is in one of this server's own socket directories and belongs
 *   to this server's operating system user; libpq checks who answers (requirepeer);
 * - the lock files say that a postmaster of that port made it, one that listens on the
 *   address (or on all), in this server's network namespace.
 *
 * The node's pg_hba.conf decides who may come that way. Where it refuses, the session is
 * made over TCP (connect.c), and the socket is left alone for a while.
 */
#include "pando/compat/compat.h"

#include <sys/stat.h>
#include <unistd.h>

#include "miscadmin.h"
#include "pando/remote/wire.h"
#include "postmaster/postmaster.h"
#include "storage/fd.h"
#include "utils/pidfile.h"
#include "utils/varlena.h"

typedef struct LockFile
{
	char lines[LOCK_FILE_LINE_LISTEN_ADDR][MAXPGPATH];
} LockFile;

static bool
is_loopback(const char *host)
{
	return strcmp(host, "127.0.0.1") == 0 || strcmp(host, "localhost") == 0;
}

/* Reads the first `count` lines of a lock file; false if there are fewer. */
static bool
read_lock_file(const char *path, LockFile *file, int count)
{
	FILE *stream = AllocateFile(path, "r");
	int line = 0;

	if (stream == NULL)
		return false;
	while (line < count && fgets(file->lines[line], MAXPGPATH, stream) != NULL)
	{
		file->lines[line][strcspn(file->lines[line], "\n")] = '\0';
		line++;
	}
	FreeFile(stream);
	return line == count;
}

/* Is the process in this one's network namespace? Then no other can have its port. */
static bool
shares_network(const char *pid)
{
	char path[64];
	char mine[64];
	char its[64];
	ssize_t my_length = readlink("/proc/self/ns/net", mine, sizeof(mine));
	ssize_t its_length;

	snprintf(path, sizeof(path), "/proc/%s/ns/net", pid);
	its_length = readlink(path, its, sizeof(its));
	return my_length > 0 && my_length == its_length && memcmp(mine, its, my_length) == 0;
}

static bool
covers(const char *listens, const char *host)
{
	return strcmp(listens, "*") == 0 || strcmp(listens, host) == 0;
}

/* Did the server that listens at host:port make the socket in that directory? */
static bool
is_socket_of(const char *directory, const char *host, int port)
{
	char path[MAXPGPATH];
	struct stat status;
	LockFile *socket_lock = palloc(sizeof(LockFile));
	LockFile *lock = palloc(sizeof(LockFile));

	if (directory[0] != '/')
		return false;
	snprintf(path, sizeof(path), "%s/.s.PGSQL.%d", directory, port);
	if (lstat(path, &status) != 0 || !S_ISSOCK(status.st_mode) ||
		status.st_uid != geteuid())
		return false;
	strlcat(path, ".lock", sizeof(path));
	if (!read_lock_file(path, socket_lock, LOCK_FILE_LINE_PORT))
		return false;
	snprintf(path, sizeof(path), "%s/postmaster.pid",
			 socket_lock->lines[LOCK_FILE_LINE_DATA_DIR - 1]);
	return read_lock_file(path, lock, LOCK_FILE_LINE_LISTEN_ADDR) &&
		   strcmp(socket_lock->lines[LOCK_FILE_LINE_PID - 1],
				  lock->lines[LOCK_FILE_LINE_PID - 1]) == 0 &&
		   atoi(lock->lines[LOCK_FILE_LINE_PORT - 1]) == port &&
		   covers(lock->lines[LOCK_FILE_LINE_LISTEN_ADDR - 1], host) &&
		   shares_network(lock->lines[LOCK_FILE_LINE_PID - 1]);
}

/*
 * The directory of the Unix-domain socket of the server at host:port, in the current
 * memory context; NULL when there is none that is certain to be that server's.
 */
char *
local_socket_directory(const char *host, int port)
{
	char *directories;
	List *list = NIL;

	if (!remote_use_local_sockets || !is_loopback(host) ||
		Unix_socket_directories == NULL || Unix_socket_directories[0] == '\0')
		return NULL;
	directories = pstrdup(Unix_socket_directories);
	if (!SplitDirectoriesString(directories, ',', &list))
		return NULL;
	foreach_ptr (char, directory, list)
	{
		if (is_socket_of(directory, host, port))
			return directory;
	}
	return NULL;
}
