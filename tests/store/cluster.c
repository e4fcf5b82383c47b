#include "tests/store/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/check.h"

static char folder[] = "/tmp/halligan-pg-XXXXXX"; /* short: it holds a socket */
static pid_t owner;                               /* 0: there is no cluster yet */
static uint32_t databases;

/* The line that `tools/postgres VERB folder REST` prints; "" when it fails or says nothing. */
static void run_tool(const char *verb, const char *rest, char *out_line, size_t size)
{
    const char *source = getenv("HALLIGAN_SOURCE");
    char command[4096];
    out_line[0] = '\0';
    snprintf(command, sizeof command, "'%s/tools/postgres' %s '%s' %s",
             source && *source ? source : ".", verb, folder, rest);
    FILE *tool = popen(command, "r");
    if (!tool)
        return;
    if (!fgets(out_line, (int)size, tool))
        out_line[0] = '\0';
    if (pclose(tool) != 0)
        out_line[0] = '\0';
    out_line[strcspn(out_line, "\n")] = '\0';
}

/* Children that a test forks leave through _exit, and even if not: the cluster is not theirs. */
static void stop_cluster(void)
{
    char line[4096];
    if (getpid() == owner)
        run_tool("stop", "", line, sizeof line);
}

static void start_cluster(void)
{
    char url[4096];
    CHECK(mkdtemp(folder) != NULL);
    owner = getpid();
    CHECK(atexit(stop_cluster) == 0);
    run_tool("start", "", url, sizeof url);
    if (!*url)
        check_failed(folder, 0, "tools/postgres does not start a server (HALLIGAN_SOURCE is?)");
}

char *cluster_new_database(void)
{
    char name[32], url[4096];
    if (!owner)
        start_cluster();
    snprintf(name, sizeof name, "test%u", ++databases);
    run_tool("newdb", name, url, sizeof url);
    CHECK(*url);
    char *copy = strdup(url);
    CHECK(copy != NULL);
    return copy;
}
