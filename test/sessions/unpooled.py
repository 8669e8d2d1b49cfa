"""The tests that a client of a pooler in transaction mode cannot pass, with the reason: what they set, lock or look at
belongs to a server session, and every transaction of theirs may get another one."""

SETTING = "a setting of the session"
CLOCK = "a time source that is a setting of the session"
LIBRARY = "a library that the session loaded, without which ALTER SYSTEM does not know the setting"
PROCESS = "the process that serves the session"
BEGINNING = "settings of a role or database, which a session gets when it begins"

UNPOOLED = {
    "test_interrupts_load.py": {
        "test_interrupted_at_random_under_load": PROCESS,
    },
    "test_audit.py": {
        "test_a_role_with_a_clock_of_its_own_sees_it_too": BEGINNING,
        "test_many_holds": SETTING,
    },
    "test_availability.py": {
        "test_rooms": SETTING,
        "test_stock": SETTING,
        "test_grace": SETTING,
        "test_time_source": CLOCK,
        "test_it_reads_under_the_callers_snapshot": SETTING,
        "test_nothing_grows_with_holds_elsewhere": "what a session counts of its own reading",
    },
    "test_drain_recipe.py": {
        "test_alter_system_needs_the_library": LIBRARY,
        "test_the_recipe_closes_and_opens": LIBRARY,
        "test_alter_database_reaches_only_new_sessions": BEGINNING,
    },
    "test_migration.py": {
        "test_there_and_back": LIBRARY,
    },
    "test_race_acquire.py": {
        "test_with_a_retry_every_level_sells_what_there_is": SETTING,
    },
    "test_race_all.py": {
        "test_element_seven_of_twelve_fails": SETTING,
    },
    "test_race_cleanup.py": {
        "test_worked_example": CLOCK,
        "test_confirmed_just_before_the_run_reads": CLOCK,
        "test_the_deadline_itself_is_overdue": CLOCK,
        "test_changed_while_the_run_waits": CLOCK,
        "test_rolled_back_while_the_run_waits": CLOCK,
        "test_payment_without_an_answer": CLOCK,
        "test_released_by_another_run_is_not_unusual": CLOCK,
    },
    "test_race_cleanup_locks.py": {
        "test_customers_in_order_while_runs_go_on": SETTING,
    },
    "test_race_deadline.py": {
        "test_confirm_against_release": "an advisory lock of the session",
    },
    "test_race_halts.py": {
        "test_too_many_had_changed": CLOCK,
        "test_the_limits_are_the_limits": CLOCK,
        "test_too_many_had_a_payment_in_flight": CLOCK,
        "test_time_source_fails": CLOCK,
        "test_time_source_is_missing": CLOCK,
        "test_time_source_fails_in_the_middle": CLOCK,
        "test_clock_behind_the_last_change": CLOCK,
        "test_behind_by_more_than_the_grace_and_a_second": CLOCK,
        "test_clock_behind_the_end_of_the_last_run": CLOCK,
        "test_a_writer_goes_around_the_triggers": CLOCK,
    },
    "test_race_interrupts.py": {
        "test_savepoint_rolled_back": SETTING,
        "test_interrupted_in_a_lock_wait": PROCESS,
        "test_interrupted_in_the_queue_of_a_key": SETTING,
        "test_interrupted_while_a_run_waits": SETTING,
        "test_prepared_transaction": SETTING,
        "test_read_only": PROCESS,
        "test_drain_reaches_open_sessions": LIBRARY,
        "test_cancelled_at_random_moments": PROCESS,
    },
    "test_race_keys.py": {
        "test_a_key_that_is_known_waits_for_no_resource": SETTING,
    },
    "test_race_pairs.py": {
        "test_pairs": SETTING,
    },
    "test_race_stress.py": {
        "test_anything_at_any_time": SETTING,
    },
    "test_reap_all.py": {
        "test_each_batch_is_committed": "an advisory lock of the session",
        "test_who_may": SETTING,
    },
    "test_time_zones.py": {
        "test_one_hour_in_many_words": SETTING,
        "test_one_request_in_many_words": SETTING,
        "test_a_deadline_is_the_same_everywhere": SETTING,
    },
}
