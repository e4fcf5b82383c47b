"""Redfish: each action against the service's state, for each maker's ways."""
import os

from yard import make_certificate, make_expired, until

FLAVOURS = ["generic", "dell", "dell10", "hpe", "supermicro", "lenovo"]


def first(service):
    return next(iter(service.systems.values()))


def set_on(service):
    system = first(service)
    system.real_power = system.shown_power = "On"
    return system


def each_flavour(yard):
    for flavour in FLAVOURS:
        service = yard.service(flavour)
        yield flavour, service, yard.redfish(service)


# -- power -----------------------------------------------------------------------------------------


def test_status_says_what_the_service_says(yard):
    for _, service, hammer in each_flavour(yard):
        assert yard.done(hammer, "power", "status") == {"power": "off"}
        set_on(service)
        assert yard.done(hammer, "power", "status") == {"power": "on"}
        assert not service.asked("POST") and not service.asked("PATCH")


def test_on_and_off_switch_every_makers_machine(yard):
    for flavour, service, hammer in each_flavour(yard):
        system = first(service)
        assert yard.done(hammer, "power", "on") == {"power": "on"}
        assert system.real_power == "On" and system.resets == ["On"], flavour
        assert yard.done(hammer, "power", "off") == {"power": "off"}
        assert system.real_power == "Off" and system.resets[1:] == ["ForceOff"], flavour


def test_what_is_so_already_is_not_asked_for(yard):
    for flavour, service, hammer in each_flavour(yard):
        assert "already" in yard.do(hammer, "power", "off")["text"]
        assert "already" in yard.do(hammer, "power", "halt")["text"]
        set_on(service)
        assert "already" in yard.do(hammer, "power", "on")["text"]
        assert not service.asked("POST"), flavour


def test_cycle_and_reset_go_by_what_is_offered(yard):
    cycles = {"hpe": ["ForceOff", "On"], "supermicro": ["ForceOff", "On"],
              "lenovo": ["ForceOff", "On"]}
    for flavour, service, hammer in each_flavour(yard):
        system = set_on(service)
        assert yard.done(hammer, "power", "cycle") == {"power": "on"}
        assert system.resets == cycles.get(flavour, ["PowerCycle"]), flavour
        assert system.real_power == "On" and len(system.boots) == 1
        assert yard.done(hammer, "power", "reset") == {"power": "on"}
        assert system.resets[-1] == "ForceRestart" and len(system.boots) == 2


def test_cycle_and_reset_of_one_that_is_off_switch_it_on(yard):
    for flavour, service, hammer in each_flavour(yard):
        system = first(service)
        assert yard.done(hammer, "power", "cycle") == {"power": "on"}
        assert system.resets == ["On"], flavour
        assert yard.done(hammer, "power", "off") == {"power": "off"}
        assert yard.done(hammer, "power", "reset") == {"power": "on"}
        assert system.resets == ["On", "ForceOff", "On"], flavour


def test_halt_is_graceful(yard):
    for flavour, service, hammer in each_flavour(yard):
        system = set_on(service)
        assert yard.done(hammer, "power", "halt") == {"power": "off"}
        assert system.resets == ["GracefulShutdown"], flavour


def test_a_power_state_that_lags_is_waited_for(yard):
    for flavour, service, hammer in each_flavour(yard):
        system = first(service)
        system.lag_reads = 4
        assert yard.done(hammer, "power", "on") == {"power": "on"}
        assert yard.done(hammer, "power", "cycle") == {"power": "on"}
        assert system.real_power == "On", flavour


def test_a_machine_that_takes_its_time_is_waited_for(yard):
    service = yard.service()
    system = first(service)
    system.delay = 0.1
    hammer = yard.redfish(service)
    assert yard.done(hammer, "power", "on") == {"power": "on"}
    assert yard.done(hammer, "power", "off") == {"power": "off"}
    # One that is between two states is first let arrive.
    system.turn("On")
    assert yard.done(hammer, "power", "off") == {"power": "off"}
    assert system.resets == ["On", "ForceOff", "ForceOff"]


def test_a_power_state_that_never_changes_is_a_timeout(yard):
    service = yard.service()
    first(service).lag_reads = 10**9
    text = yard.fails("timeout", "power on was requested, the service reports \"Off\"", yard.redfish(service),
                      "power", "on", deadline_ms=6000)
    assert "n1" in text


def test_a_timeout_names_the_last_observed_state(yard):
    service = yard.service()
    first(service).lag_reads = 10**9
    key = yard.give(yard.redfish(service), "power", "on", deadline_ms=6000)
    until(lambda: service.asked("POST"), "the switch is asked for")
    looks = len(service.asked("GET"))
    until(lambda: len(service.asked("GET")) > looks + 5, "it is polled")
    service.faults.add(path="/Systems/1$", do="delay", seconds=1000, count=100)
    result = yard.take(key)
    assert result["end"] == "timeout", result
    assert 'power on was requested, the service reports "Off"; since then: waiting for the answer to GET' in \
        result["text"], result


def test_who_does_not_want_to_wait_does_not(yard):
    service = yard.service()
    first(service).lag_reads = 10**9
    hammer = yard.redfish(service)
    assert yard.done(hammer, "power", "on", {"wait": False}) == {"power": "on"}
    assert first(service).real_power == "On"


def test_what_is_not_offered_is_said_with_what_is(yard):
    service = yard.service(resets=["On", "Nmi"])
    set_on(service)
    text = yard.fails("not_offered", "the system offers On, Nmi", yard.redfish(service), "power", "off")
    assert "ForceOff" in text and not service.asked("POST")


def test_identify_lights_every_machine(yard):
    for flavour, service, hammer in each_flavour(yard):
        system = first(service)
        yard.done(hammer, "power", "identify")
        assert system.light or system.led in ("Blinking", "Lit"), flavour
        yard.done(hammer, "power", "identify", {"on": False})
        assert not system.light and system.led == "Off", flavour
    service = yard.service(light=None)
    yard.fails("not_offered", "no indicator LED", yard.redfish(service), "power", "identify")


# -- boot ------------------------------------------------------------------------------------------


def test_pxeboot_is_for_the_next_start_only(yard):
    for flavour, service, hammer in each_flavour(yard):
        system = first(service)
        value = yard.done(hammer, "power", "pxeboot")
        assert value == {"boot": "pxe", "once": True, "shown": True}, (flavour, value)
        assert (system.target, system.enabled, system.mode) == ("Pxe", "Once", "UEFI"), flavour
        yard.done(hammer, "power", "on")
        yard.done(hammer, "power", "reset")
        assert system.boots == ["Pxe", "None"], flavour


def test_the_boot_device_stays(yard):
    for flavour, service, hammer in each_flavour(yard):
        system = first(service)
        if flavour == "lenovo":
            yard.fails("not_offered", "offers Once, Disabled", hammer, "boot", "pxe")
            continue
        value = yard.done(hammer, "boot", "pxe")
        assert value == {"boot": "pxe", "once": False, "shown": True}, flavour
        yard.done(hammer, "power", "on")
        yard.done(hammer, "power", "reset")
        assert system.boots == ["Pxe", "Pxe"], flavour
        yard.done(hammer, "boot", "disk")
        yard.done(hammer, "power", "reset")
        assert system.boots[2] == "Hdd" and system.mode == "UEFI", flavour


def test_disk_once(yard):
    for flavour, service, hammer in each_flavour(yard):
        system = first(service)
        yard.done(hammer, "boot", "disk", {"once": True})
        assert (system.target, system.enabled) == ("Hdd", "Once"), flavour


def test_without_a_disk_in_the_list_the_override_goes(yard):
    service = yard.service(targets=["None", "Pxe"])
    hammer = yard.redfish(service)
    yard.done(hammer, "boot", "pxe")
    yard.done(hammer, "boot", "disk")
    assert first(service).enabled == "Disabled"


def test_a_named_boot_entry_is_used_for_the_disk(yard):
    service = yard.service("dell")
    hammer = yard.redfish(service, uefi_target="HD(1,GPT,0)/x.efi")
    yard.done(hammer, "boot", "disk")
    assert first(service).target == "UefiTarget"
    assert first(service).uefi_target == "HD(1,GPT,0)/x.efi"


def test_what_is_set_already_is_not_written_again(yard):
    service = yard.service()
    hammer = yard.redfish(service)
    yard.done(hammer, "boot", "pxe")
    assert "already" in yard.do(hammer, "boot", "pxe")["text"]
    assert len(service.asked("PATCH")) == 1


def test_a_version_that_went_old_is_read_again(yard):
    service = yard.service("lenovo")
    hammer = yard.redfish(service)
    service.faults.add(method="PATCH", do="status", status=412)
    yard.done(hammer, "power", "pxeboot")
    assert first(service).enabled == "Once" and len(service.asked("PATCH")) == 2
    service.faults.add(method="PATCH", do="status", status=412, count=100)
    yard.fails("busy", "412", hammer, "boot", "disk", {"once": True})
    assert len(service.asked("PATCH")) < 10


def test_a_version_is_named_where_it_turns_out_to_be_wanted(yard):
    service = yard.service("generic", etag=True)
    yard.done(yard.redfish(service), "power", "pxeboot")
    patches = service.asked("PATCH")
    assert "If-Match" not in patches[0][2] and patches[1][2]["If-Match"] == 'W/"1"'
    yard.done(yard.redfish(service), "power", "identify")


def test_the_boot_mode_is_sent_to_supermicro_and_not_to_hpe(yard):
    service = yard.service("supermicro")
    yard.done(yard.redfish(service), "power", "pxeboot")
    assert '"BootSourceOverrideMode":"UEFI"' in service.asked("PATCH")[0][1]
    service = yard.service("hpe")
    yard.done(yard.redfish(service), "power", "pxeboot")
    assert "Mode" not in service.asked("PATCH")[0][1]


# -- finding the system ----------------------------------------------------------------------------


def test_of_several_systems_one_has_to_be_named(yard):
    service = yard.service(systems=3)
    yard.fails("setting", "3 systems; name one of them in extra.system: 1, 2, 3",
               yard.redfish(service), "power", "on")
    yard.done(yard.redfish(service, system="2"), "power", "on")
    yard.done(yard.redfish(service, system="/redfish/v1/Systems/3"), "power", "on")
    assert [s.real_power for s in service.systems.values()] == ["Off", "On", "On"]
    yard.fails("not_found", "no system \"4\"; there are: 1, 2, 3", yard.redfish(service, system="4"),
               "power", "on")


def test_systems_are_found_on_later_pages(yard):
    service = yard.service(systems=25)
    service.page_size = 10
    yard.done(yard.redfish(service, system="23"), "power", "on")
    assert service.systems["23"].real_power == "On"
    yard.fails("setting", "25 systems", yard.redfish(service), "power", "on")


def test_pages_without_end_are_not_followed_for_ever(yard):
    service = yard.service()
    page = {"Members": [], "Members@odata.nextLink": "/redfish/v1/Systems?again"}
    service.faults.add(path="/Systems$", do="status", status=200, body=page, count=1000)
    yard.fails("not_found", "no system", yard.redfish(service), "power", "on")
    assert len(service.asked("GET")) < 100


def test_no_system_at_all(yard):
    service = yard.service(systems=0)
    yard.fails("not_found", "has no system", yard.redfish(service), "power", "on")


# -- credentials ------------------------------------------------------------------------------------------


def test_a_session_is_made_used_and_given_back(yard):
    service = yard.service()
    yard.done(yard.redfish(service, auth="session"), "power", "on")
    until(lambda: not service.sessions, "the session is given back")
    assert service.session_count == 1 and first(service).real_power == "On"
    assert not any("Authorization" in r[3] for r in service.requests)


def test_a_session_is_given_back_after_a_failure_too(yard):
    service = yard.service(resets=["Nmi"])
    yard.fails("not_offered", "Nmi", yard.redfish(service, auth="session"), "power", "on")
    until(lambda: service.session_count == 1 and not service.sessions, "it is given back")
    first(service).lag_reads = 10**9
    service.flavour["resets"] = ["On"]
    yard.fails("timeout", "on", yard.redfish(service, auth="session"), "power", "on",
               deadline_ms=3000)
    until(lambda: service.session_count == 2 and not service.sessions, "it is given back")


def test_a_wrong_password_is_reported(yard):
    service = yard.service()
    for auth in ("basic", "session"):
        hammer = yard.redfish(service, password="wrong", auth=auth)
        text = yard.fails("auth", "\"root\" or its password is not accepted", hammer, "power", "on")
        assert "wrong" not in text
    assert first(service).real_power == "Off"
    yard.fails("setting", "extra.auth", yard.redfish(service, auth="digest"), "power", "on")


def test_a_missing_privilege_is_reported(yard):
    service = yard.service()
    service.faults.add(method="POST", do="status", status=403)
    yard.fails("auth", "may not do this (403): as the test requested", yard.redfish(service), "power", "on")


def test_the_service_root_is_read_without_a_password(yard):
    service = yard.service()
    yard.done(yard.redfish(service), "power", "status")
    root = service.asked("GET", "^/redfish/v1/$")[0]
    assert "Authorization" not in root[2] and "X-Auth-Token" not in root[2]


# -- TLS -----------------------------------------------------------------------------------------------


def test_a_self_signed_certificate_is_refused(yard):
    service = yard.service()
    text = yard.fails("tls", "self-signed", yard.redfish(service, ca=None), "power", "on")
    assert "extra.ca" in text and not service.requests


def test_a_certificate_of_a_trusted_authority_is_accepted(yard):
    ca, _ = make_certificate(yard.folder, "authority", "Some Authority", "DNS:authority.example")
    cert, key = make_certificate(yard.folder, "issued", signer="authority")
    service = yard.service(cert=cert, key=key)
    yard.done(yard.redfish(service, ca=ca), "power", "on")
    yard.fails("tls", "the issuer of the certificate is not trusted", yard.redfish(service, ca=None),
               "power", "status")
    yard.fails("tls", "", yard.redfish(service), "power", "status")  # of another CA


def test_a_certificate_for_another_name_is_refused(yard):
    cert, key = make_certificate(yard.folder, "other", "other.example", "DNS:other.example")
    service = yard.service(cert=cert, key=key)
    yard.fails("tls", "for another name", yard.redfish(service, ca=cert), "power", "on")
    assert not service.requests


def test_a_certificate_that_has_expired_is_refused(yard):
    cert, key = make_expired(yard.folder)
    service = yard.service(cert=cert, key=key)
    yard.fails("tls", "expired", yard.redfish(service, ca=cert), "power", "on")
    assert not service.requests


def test_an_unreadable_ca_file_is_reported(yard):
    service = yard.service()
    yard.fails("tls", "cannot be read", yard.redfish(service, ca="/no/such/file"), "power", "on")


def test_insecure_has_to_be_said_and_is_logged(yard):
    service = yard.service()
    yard.done(yard.redfish(service, ca=None, insecure=True), "power", "on")
    assert "is not verified" in yard.stderr() and service.url in yard.stderr()
    yard.fails("tls", "self-signed", yard.redfish(service, ca=None, insecure="true"), "power", "on")


def test_no_password_goes_in_the_clear_unless_that_is_said(yard):
    service = yard.service(is_secure=False)
    yard.fails("setting", "in the clear", yard.redfish(service, ca=None), "power", "on")
    assert not service.requests
    yard.done(yard.redfish(service, ca=None, insecure=True), "power", "on")


def test_something_that_speaks_no_tls(yard):
    service = yard.service(is_secure=False)
    hammer = yard.redfish(service)
    hammer["endpoint"] = hammer["endpoint"].replace("http:", "https:")
    yard.fails("tls", "", hammer, "power", "on")


def test_a_handshake_that_never_ends_is_a_timeout(yard):
    service = yard.service()
    service.slow_tls = 1000
    yard.fails("timeout", "waiting for the answer to GET https://", yard.redfish(service), "power",
               "on", deadline_ms=300)


# -- trouble -------------------------------------------------------------------------------------------


def test_a_refused_connection_is_reported(yard):
    service = yard.service()
    hammer = yard.redfish(service)
    service.close()
    yard.things.remove(service)
    yard.fails("refused", "nothing listens there", hammer, "power", "on")


def test_a_name_that_does_not_exist(yard):
    service = yard.service()
    hammer = yard.redfish(service)
    hammer["endpoint"] = "https://no-such-name.invalid"
    yard.fails("unreachable", "no-such-name.invalid", hammer, "power", "on")


def test_endpoints_that_make_no_sense(yard):
    service = yard.service()
    for endpoint in ("", "ftp://127.0.0.1", "https://", "https://a b", "https://user@host",
                     "https://host/other/path", "https://host:99999", "-x", "https://host?x=1"):
        yard.fails("setting", "endpoint", {**yard.redfish(service), "endpoint": endpoint}, "power",
                   "on")
    for end in ("/", "/redfish/v1", "/redfish/v1/"):
        yard.done({**yard.redfish(service), "endpoint": service.url + end}, "power", "status")
    yard.done({**yard.redfish(service), "endpoint": service.url[len("https://"):]}, "power", "status")


def test_an_answer_that_never_comes(yard):
    service = yard.service()
    service.faults.add(path="/Systems/1$", do="delay", seconds=1000)
    yard.fails("timeout", "GET " + service.url + "/redfish/v1/Systems/1", yard.redfish(service),
               "power", "on", deadline_ms=3000)


def test_busy_is_waited_for_as_long_as_it_asks(yard):
    service = yard.service()
    for status in (503, 409, 429):
        service.faults.add(method="POST", do="status", status=status, headers={"Retry-After": "0"},
                           count=3)
    yard.done(yard.redfish(service), "power", "on")
    assert len(service.asked("POST")) == 10 and first(service).real_power == "On"


def test_retry_after_beyond_the_deadline_fails_at_once(yard):
    service = yard.service()
    service.faults.add(method="POST", do="status", status=503, headers={"Retry-After": "120"})
    yard.fails("busy", "busy (503): as the test requested", yard.redfish(service), "power", "on")
    assert len(service.asked("POST")) == 1


def test_a_busy_service_fails_after_some_tries(yard):
    service = yard.service()
    service.faults.add(method="POST", do="status", status=503, count=1000)
    yard.fails("busy", "503", yard.redfish(service), "power", "on")
    assert 2 <= len(service.asked("POST")) <= 10


def test_a_conflict_says_why(yard):
    service = yard.service()
    service.faults.add(method="POST", do="status", status=409)
    yard.fails("busy", "409): as the test requested", yard.redfish(service), "power", "on")
    assert len(service.asked("POST")) == 1


def test_a_server_error_is_retried_for_reads_only(yard):
    service = yard.service()
    service.faults.add(method="GET", path="/Systems$", do="status", status=500, count=2)
    yard.done(yard.redfish(service), "power", "on")
    service.faults.add(method="POST", do="status", status=500)
    yard.fails("failed", "answered with 500: as the test requested", yard.redfish(service), "power", "off")
    assert len(service.asked("POST")) == 2


def test_a_connection_that_drops(yard):
    service = yard.service()
    service.faults.add(method="GET", path="/Systems$", do="drop", count=1)
    yard.done(yard.redfish(service), "power", "status")
    service.faults.add(method="POST", do="drop", count=1)
    yard.fails("lost", "may have happened", yard.redfish(service), "power", "on")
    service.faults.add(method="GET", path="/Systems$", do="drop", count=1000)
    yard.fails("lost", "", yard.redfish(service), "power", "status")


def test_half_an_answer(yard):
    service = yard.service()
    service.faults.add(path="/Systems$", do="cut", count=1000)
    yard.fails("lost", "", yard.redfish(service), "power", "status")


def test_answers_that_make_no_sense(yard):
    for fault in ({"do": "bad_json"}, {"do": "no_object"}, {"do": "deep", "levels": 100_000},
                  {"do": "deep", "levels": 65}, {"do": "huge", "size": 2 << 20},
                  {"do": "headers", "lines": 90}):
        for path in ("/redfish/v1/$", "/Systems$", "/Systems/1$"):
            service = yard.service()
            service.faults.add(path=path, **fault)
            yard.fails("bad_answer", "", yard.redfish(service), "power", "on")


def test_a_large_answer_within_bounds_is_read(yard):
    service = yard.service()
    body = {**service.root(), "Filler": "x" * 900_000}
    service.faults.add(path="/redfish/v1/$", do="status", status=200, body=body)
    yard.done(yard.redfish(service), "power", "status")


def test_links_that_lead_elsewhere_are_not_followed(yard):
    elsewhere = yard.service()
    for target in (elsewhere.url + "/redfish/v1/Systems", "//" + elsewhere.url[8:] + "/redfish/v1"):
        service = yard.service()
        root = {**service.root(), "Systems": {"@odata.id": target}}
        service.faults.add(path="/redfish/v1/$", do="status", status=200, body=root)
        yard.fails("bad_answer", "names no systems", yard.redfish(service), "power", "on")
    for target in (elsewhere.url + "/redfish/v1/Systems", "https://127.0.0.1/", "file:///etc/passwd"):
        service = yard.service()
        service.faults.add(path="/Systems$", do="status", status=307, headers={"Location": target})
        yard.fails("bad_answer", "not followed", yard.redfish(service), "power", "on")
    assert not elsewhere.requests


def test_redirects_on_the_same_host_are_followed_but_not_in_circles(yard):
    service = yard.service()
    service.faults.add(path="/redfish/v1/$", do="status", status=301,
                       headers={"Location": "/redfish/v1"})
    yard.done(yard.redfish(service), "power", "status")
    service.faults.add(path="/Systems$", do="status", status=308, count=1000,
                       headers={"Location": "/redfish/v1/Systems"})
    yard.fails("bad_answer", "redirects", yard.redfish(service), "power", "status")


def test_a_thing_that_is_not_there(yard):
    service = yard.service()
    service.faults.add(path="/Systems/1$", do="status", status=404)
    yard.fails("not_found", "does not exist (404)", yard.redfish(service), "power", "on")


# -- tasks -----------------------------------------------------------------------------------------------


def test_a_task_is_followed_to_its_end(yard):
    service = yard.service("lenovo")
    service.task_reads = 5
    yard.done(yard.redfish(service), "power", "on")
    assert len(service.asked("GET", "/Tasks/")) == 6 and not service.tasks


def test_a_task_that_fails_says_why(yard):
    service = yard.service("lenovo")
    service.task_fails = True
    yard.fails("failed", "ended as Exception: the task fell over", yard.redfish(service), "power", "on")


def test_a_task_that_is_gone_is_done(yard):
    service = yard.service("lenovo")
    service.faults.add(path="/Tasks/", do="status", status=404)
    yard.done(yard.redfish(service), "power", "on")


def test_a_task_that_never_ends(yard):
    service = yard.service("lenovo")
    service.task_reads = 10**9
    yard.fails("timeout", "still runs", yard.redfish(service), "power", "on", deadline_ms=6000)


# -- many ------------------------------------------------------------------------------------------------


def test_many_machines_at_once(yard):
    service = yard.service(systems=200)
    keys = [yard.give(yard.redfish(service, system=name), "power", "on", node=i)
            for i, name in enumerate(service.systems)]
    for key in keys:
        assert yard.take(key)["end"] == "done"
    assert all(s.real_power == "On" and s.resets == ["On"] for s in service.systems.values())


def test_orders_for_one_node_are_carried_out_in_order(yard):
    service = yard.service()
    hammer = yard.redfish(service)
    keys = [yard.give(hammer, "power", m) for m in ("on", "off", "on", "cycle", "off")]
    for key in keys:
        assert yard.take(key)["end"] == "done"
    assert first(service).resets == ["On", "ForceOff", "On", "PowerCycle", "ForceOff"]


def test_closing_in_the_middle_leaves_nothing(yard):
    service = yard.service(systems=50)
    service.faults.add(method="POST", do="delay", seconds=1000, count=1000)
    for i, name in enumerate(service.systems):
        yard.give(yard.redfish(service, system=name), "power", "on", node=i)
    until(lambda: len(service.asked("POST")) >= 10, "some are in the middle")
    yard.send({"close": True})


# -- recorded shapes -----------------------------------------------------------------------------------


def test_dell_as_recorded(yard):
    replay = yard.replay("dell")
    hammer = yard.redfish(replay)
    value = yard.done(hammer, "power", "pxeboot")
    assert value == {"boot": "pxe", "once": True, "shown": True}, value
    assert replay.asked("PATCH")[1][2]["If-Match"] == 'W/"gen-1"'
    assert yard.done(hammer, "power", "cycle") == {"power": "on"}
    assert not replay.strangers, replay.strangers


def test_hpe_as_recorded(yard):
    replay = yard.replay("hpe")
    hammer = yard.redfish(replay, auth="session")
    assert yard.done(hammer, "power", "cycle") == {"power": "on"}
    assert [b for _, b, _ in replay.asked("POST", "Reset")] == [
        '{"ResetType":"ForceOff"}', '{"ResetType":"On"}']
    until(lambda: replay.asked("DELETE"), "the session is given back")
    assert not replay.strangers, replay.strangers
    replay = yard.replay("hpe", "boot_exchanges.json")
    value = yard.done(yard.redfish(replay), "boot", "pxe")
    assert value == {"boot": "pxe", "once": False, "shown": True}, value
    assert not replay.strangers, replay.strangers


# -- the whole ---------------------------------------------------------------------------------------------


def test_the_better_hammer_is_swung(yard):
    service = yard.service()
    worse = {"class": "ipmi", "priority": 1, "endpoint": "127.0.0.1:1", "username": "x",
             "authenticator": "y"}
    yard.done([worse, yard.redfish(service)], "power", "on")
    assert first(service).real_power == "On"
    yard.send({"methods": [worse, yard.redfish(service)]})
    assert yard.read()["power"][0] == "status"


def test_no_descriptor_is_left_open(yard):
    service = yard.service(systems=30)

    def round_of(method):
        keys = [yard.give(yard.redfish(service, system=n, auth="session"), "power", method, node=i)
                for i, n in enumerate(service.systems)]
        for key in keys:
            assert yard.take(key)["end"] == "done"

    def count():
        return len(os.listdir(f"/proc/{yard.process.pid}/fd"))

    round_of("on")
    before = count()
    for _ in range(3):
        round_of("off")
        round_of("on")
    # Connections are kept for the next time, so some are open; more rounds make them no more.
    assert count() <= max(before, 64) + 40, (before, count())
