/*
 * cancel.c: asking a node to cancel what a session runs, within a bounded time.
 *
 * libpq's PQcancel() waits until the node's postmaster has taken the request, which a
 * hanging node never does. It is made for signal handlers and threads, so it runs in a
 * thread with all signals blocked that touches nothing of the server; who asked waits for
 * it as long as he likes. A request that was not taken in time may still arrive: its
 * session must not be used any more.
 */
#include "pando/compat/compat.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "pando/remote/session.h"

typedef struct CancelRequest
{
	pthread_mutex_t mutex;
	pthread_cond_t taken_or_failed;
	PGcancel *cancel;
	bool done;
	bool abandoned; /* nobody waits any more: the thread frees it */
} CancelRequest;

static void
request_free(CancelRequest *request)
{
	PQfreeCancel(request->cancel);
	pthread_cond_destroy(&request->taken_or_failed);
	pthread_mutex_destroy(&request->mutex);
	free(request);
}

static void *
request_run(void *arg)
{
	CancelRequest *request = arg;
	char message[256];
	bool abandoned;

	(void) PQcancel(request->cancel, message, sizeof(message));
	pthread_mutex_lock(&request->mutex);
	request->done = true;
	abandoned = request->abandoned;
	pthread_cond_signal(&request->taken_or_failed);
	pthread_mutex_unlock(&request->mutex);
	if (abandoned)
		request_free(request);
	return NULL;
}

static CancelRequest *
request_make(PGconn *conn)
{
	CancelRequest *request = calloc(1, sizeof(CancelRequest));

	if (request == NULL)
		return NULL;
	request->cancel = PQgetCancel(conn);
	if (request->cancel == NULL)
	{
		free(request);
		return NULL;
	}
	pthread_mutex_init(&request->mutex, NULL);
	pthread_cond_init(&request->taken_or_failed, NULL);
	return request;
}

static bool
request_start(CancelRequest *request)
{
	pthread_t thread;
	pthread_attr_t attributes;
	sigset_t all;
	sigset_t before;
	bool started;

	sigfillset(&all);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	started = pthread_create(&thread, &attributes, request_run, request) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return started;
}

bool
session_request_cancel(Session *session, int timeout_ms)
{
	CancelRequest *request = request_make(session->conn);
	struct timespec until;
	bool done;

	if (request == NULL)
		return true; /* no connection: nothing runs */
	if (!request_start(request))
	{
		request_free(request);
		return false;
	}
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += timeout_ms / 1000;
	until.tv_nsec += (timeout_ms % 1000) * 1000000L;
	if (until.tv_nsec >= 1000000000L)
	{
		until.tv_sec++;
		until.tv_nsec -= 1000000000L;
	}
	pthread_mutex_lock(&request->mutex);
	while (!request->done && pthread_cond_timedwait(&request->taken_or_failed,
													&request->mutex, &until) != ETIMEDOUT)
		;
	done = request->done;
	request->abandoned = !done;
	pthread_mutex_unlock(&request->mutex);
	if (done)
		request_free(request);
	return done;
}
