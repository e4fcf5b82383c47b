/* request_log.h - log lines about one request, for modules that may not log by themselves. */
#pragma once

#include "http/http.h"

/* A client repeated a key in one JSON object of its request, and the last value was used. */
void request_log_repeated_key(const struct http_request *request, struct str key);
