/* Goal: each request to the daemon ends once, and an answer ends no other request.
 * Method: numbers of ended, unknown and reused places; the table at its bound. */
#include "boot/server/daemon_requests.h"
#include "tests/check.h"

static struct daemon_requests requests;
static struct daemon_request ended;

TEST(an_answer_ends_its_request_once)
{
    daemon_requests_init(&requests);
    struct daemon_request *one = daemon_requests_add(&requests, REQUEST_LEASE, 0);
    struct daemon_request *two = daemon_requests_add(&requests, REQUEST_GRANT, 0);
    CHECK(one && two && one->id > 0 && two->id > 0 && one->id != two->id);
    one->token = 7;
    const int64_t id = one->id;
    CHECK(!daemon_requests_end(&requests, id, REQUEST_GRANT, &ended));
    CHECK(!daemon_requests_end(&requests, id + DAEMON_REQUESTS_MAX, REQUEST_LEASE, &ended));
    CHECK(!daemon_requests_end(&requests, -id, REQUEST_LEASE, &ended));
    CHECK(!daemon_requests_end(&requests, 0, REQUEST_LEASE, &ended));
    CHECK(daemon_requests_end(&requests, id, REQUEST_LEASE, &ended) && ended.token == 7);
    CHECK(!daemon_requests_end(&requests, id, REQUEST_LEASE, &ended));
    CHECK(daemon_requests_end(&requests, two->id, REQUEST_GRANT, &ended) && requests.count == 0);
    daemon_requests_fini(&requests);
}

TEST(requests_end_by_time_and_not_before)
{
    daemon_requests_init(&requests);
    CHECK(daemon_requests_add(&requests, REQUEST_LEASE, 100));
    CHECK(daemon_requests_add(&requests, REQUEST_DOCUMENT, 200));
    CHECK(!daemon_requests_expire(&requests, 10099, &ended));
    CHECK(daemon_requests_expire(&requests, 10100, &ended) && ended.kind == REQUEST_LEASE);
    CHECK(!daemon_requests_expire(&requests, 10100, &ended));
    CHECK(daemon_requests_expire(&requests, INT64_MAX, &ended) && ended.kind == REQUEST_DOCUMENT);
    CHECK(!daemon_requests_expire(&requests, INT64_MAX, &ended));
    daemon_requests_fini(&requests);
}

TEST(a_full_table_refuses_and_its_places_are_used_again)
{
    int64_t first = 0;
    daemon_requests_init(&requests);
    for (uint32_t i = 0; i < DAEMON_REQUESTS_MAX; i++) {
        const struct daemon_request *request = daemon_requests_add(&requests, REQUEST_LEASE, 0);
        CHECK(request);
        if (i == 5)
            first = request->id;
    }
    CHECK(!daemon_requests_add(&requests, REQUEST_LEASE, 0));
    CHECK(daemon_requests_end(&requests, first, REQUEST_LEASE, &ended));
    const struct daemon_request *again = daemon_requests_add(&requests, REQUEST_LEASE, 0);
    CHECK(again && again->id != first);
    CHECK(!daemon_requests_end(&requests, first, REQUEST_LEASE, &ended));
    daemon_requests_fini(&requests);
}
