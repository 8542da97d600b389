//! Every scenario in its short form, on every world it can be played on.

use rhythm_crash::lab::{On, Scale};
use rhythm_crash::scenarios::{ALL, Scenario};

macro_rules! played {
    ($($test:ident $scenario:literal $on:ident,)*) => {
        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $test() {
            let scenario = Scenario::named($scenario).expect("the scenario is listed");
            scenario.run(On::$on, Scale::Short).await.expect_good();
        })*

        #[test]
        fn every_scenario_is_played_here_on_every_world_it_names() {
            let played = [$(($scenario, On::$on)),*];
            for scenario in ALL {
                for on in scenario.worlds {
                    assert!(played.contains(&(scenario.name, *on)), "{} on {on:?}", scenario.name);
                }
            }
        }
    };
}

played! {
    a_storm_of_kills_loses_nothing_on_sqlite "random_kills" Sqlite,
    a_storm_of_kills_loses_nothing_on_postgres "random_kills" Postgres,
    nobody_minds_that_the_database_restarts "restarts" Postgres,
    nobody_minds_that_sessions_are_ended_by_the_server "backends" Postgres,
    a_commit_whose_answer_is_lost_happens_once_on_sqlite "lost_commits" Sqlite,
    a_commit_whose_answer_is_lost_happens_once_on_postgres "lost_commits" Postgres,
    what_a_partition_held_back_harms_nothing "partitions" Postgres,
    a_half_open_connection_is_noticed "half_open" Postgres,
    a_slow_network_takes_no_claims "slow_network" Postgres,
    clocks_that_jump_take_no_claims_on_sqlite "clock" Sqlite,
    clocks_that_jump_take_no_claims_on_postgres "clock" Postgres,
    a_herd_of_workers_comes_back_together "thundering_herd" Postgres,
    a_pinned_snapshot_does_not_rot_the_queues "pinned_snapshot" Postgres,
    a_kill_at_any_commit_point_loses_nothing_on_sqlite "commit_points" Sqlite,
    a_kill_at_any_commit_point_loses_nothing_on_postgres "commit_points" Postgres,
    a_frozen_worker_that_wakes_up_cannot_commit_on_sqlite "zombies" Sqlite,
    a_frozen_worker_that_wakes_up_cannot_commit_on_postgres "zombies" Postgres,
    killing_everything_at_once_loses_nothing_on_sqlite "whole_restart" Sqlite,
    killing_everything_at_once_loses_nothing_on_postgres "whole_restart" Postgres,
    poisonous_tasks_are_contained_on_sqlite "poison" Sqlite,
    poisonous_tasks_are_contained_on_postgres "poison" Postgres,
    repeated_and_reordered_deliveries_change_nothing_on_sqlite "duplicates" Sqlite,
    repeated_and_reordered_deliveries_change_nothing_on_postgres "duplicates" Postgres,
    many_timers_due_at_once_fire_and_none_early_on_sqlite "timers" Sqlite,
    many_timers_due_at_once_fire_and_none_early_on_postgres "timers" Postgres,
    a_full_disk_is_waited_out_on_sqlite "disk_full" Sqlite,
    a_failed_sync_ends_the_worker_and_loses_nothing_on_sqlite "disk_error" Sqlite,
    a_slow_disk_gets_nobody_taken_for_dead_on_sqlite "disk_slow" Sqlite,
    a_full_disk_is_waited_out_on_postgres "disk_full" Postgres,
    a_failed_sync_of_the_server_loses_nothing_on_postgres "disk_error" Postgres,
    a_slow_disk_gets_nobody_taken_for_dead_on_postgres "disk_slow" Postgres,
    damage_is_found_and_contained_on_sqlite "disk_damage" Sqlite,
    damage_is_found_and_contained_on_postgres "disk_damage" Postgres,
}
