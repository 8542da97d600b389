//! The World contract as an executable suite with one entry: [`conformance_suite!`](crate::conformance_suite)
//! turns every test here into a test of the calling crate, for the world its stage opens.

pub mod approvals;
pub mod artifacts;
pub mod beginnings;
pub mod blobs;
pub mod cancelling;
pub mod changes;
pub mod children;
pub mod claims;
pub mod collecting;
pub mod commits;
pub mod control;
pub mod dead_letters;
pub mod durability;
pub mod endings;
pub mod forks;
pub mod fused;
pub mod kept;
pub mod liveness;
pub mod messages;
pub mod model;
pub mod node_types;
pub mod play;
pub mod queue_order;
pub mod records;
pub mod referring;
pub mod reopening;
pub mod schedules;
pub mod starts;
pub mod tasks;
pub mod tenants;
pub mod timers;
pub mod upkeep;
pub mod wakeups;
pub mod waking;

use std::sync::Arc;

use async_trait::async_trait;
use rhythm_engine::world::{ManualClock, World};

/// Environment of one test: an empty database and a clock of its own.
#[async_trait]
pub trait Stage: Send + Sync {
    /// Opens a new handle on the stage's database, as another process would. Dropping it simulates the death
    /// of that process.
    async fn handle(&self) -> Arc<dyn World>;

    /// Returns the clock of every handle.
    fn clock(&self) -> &ManualClock;
}

/// Defines one test of the calling crate for each conformance test. The argument is a function or closure
/// that opens a fresh stage: `async fn open() -> Box<dyn Stage>`. The caller needs `tokio` among its
/// dependencies.
#[macro_export]
macro_rules! conformance_suite {
    ($stage:expr) => {
        async fn conformance_stage() -> Box<dyn $crate::Stage> {
            ($stage)().await
        }
        $crate::conformance_tests!(conformance_modules);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! conformance_modules {
    ($($module:ident { $($test:ident)* })*) => {$(
        mod $module {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                let stage = super::conformance_stage().await;
                $crate::$module::$test(&*stage).await;
            }
        )*}
    )*};
}

#[doc(hidden)]
#[macro_export]
macro_rules! conformance_names {
    ($($module:ident { $($test:ident)* })*) => {
        &[$((stringify!($module), &[$(stringify!($test)),*])),*]
    };
}

/// The modules of the suite with their tests.
pub const TESTS: &[(&str, &[&str])] = crate::conformance_tests!(conformance_names);

/// The only list of conformance tests, passed to another macro of this crate.
#[macro_export]
macro_rules! conformance_tests {
    ($each:ident) => {
        $crate::$each! {
            commits {
                a_commit_writes_all_of_a_transition
                a_commit_on_a_moved_revision_is_stale
                items_of_a_batch_fail_alone
                a_fold_of_many_messages_is_one_commit
                a_repeated_commit_gets_the_original_answer
                a_repeated_final_commit_gets_the_original_answer
                a_repeated_commit_lists_only_claims_still_held
                an_ended_or_unknown_run_takes_no_commit
                of_two_items_for_one_run_one_is_done
                racing_commits_of_one_claim_are_done_once
                history_is_kept_in_order_without_gaps
                a_state_comes_back_as_it_was_committed
                an_empty_snapshot_is_not_a_missing_one
            }
            claims {
                a_stale_claim_cannot_commit
                a_claim_is_its_number_and_its_worker
                a_claim_number_only_grows
                a_repeated_claim_gets_the_runs_it_took
                a_claim_may_be_for_one_run_and_those_below_it
                a_claim_may_be_for_tasks_of_one_run_and_those_below_it
                an_expired_claim_nobody_took_over_still_commits
                a_claimed_run_is_not_claimed_again
                two_claimers_never_share_a_run
                runs_come_by_priority_then_age
                only_runs_this_process_can_step_are_claimed
                a_run_follows_its_claim_through_its_states
                an_idle_run_waits_for_the_next_delivery
                a_run_released_for_later_comes_back_in_time
                a_run_set_aside_stays_there
                a_run_set_aside_can_be_ended
                a_commit_does_not_lift_a_quarantine
                a_release_by_a_former_holder_is_ignored
                a_commit_may_keep_its_run_ready
            }
            beginnings {
                a_run_begins_with_its_first_commit
                a_repeated_first_commit_gets_the_original_answer
                a_first_commit_of_a_known_run_is_refused
                a_refused_first_commit_leaves_the_others_alone
                nothing_begins_while_its_workflow_is_paused
                a_run_may_begin_with_the_current_version_only
                of_two_who_begin_a_run_one_does
            }
            changes {
                a_version_is_changed_with_the_message_that_says_so
                a_change_of_a_moved_run_is_refused
                a_repeated_change_is_one
                a_late_holder_of_a_changed_run_is_refused
                a_paused_run_stays_paused_with_another_version
                a_run_that_has_not_begun_keeps_its_version
                a_failed_run_is_opened_with_another_version
                a_change_may_end_its_run
            }
            forks {
                a_fork_begins_where_its_history_ends
                a_fork_does_not_start_but_goes_on
                a_repeated_fork_changes_nothing
                a_fork_of_a_paused_workflow_is_refused_whole
            }
            fused {
                a_fused_commit_leaves_a_ready_run_ready
                a_fused_commit_keeps_the_place_of_a_ready_run
                a_fused_commit_leaves_a_run_put_off
                a_fused_commit_finishes_steps_and_claims
                a_fused_commit_is_refused_when_the_run_is_claimed
                a_fused_commit_is_refused_when_its_own_worker_claims_the_run
                a_fused_commit_is_refused_after_a_delivery
                a_fused_commit_that_saw_the_delivery_is_written
                a_fused_commit_needs_a_current_task_claim
                an_expired_task_claim_nobody_took_still_fuses
                a_fused_commit_is_refused_on_a_moved_revision
                a_fused_commit_is_refused_while_its_run_is_paused
                a_fused_commit_is_refused_while_its_workflow_is_paused
                a_fused_commit_may_finish_several_tasks
                a_new_task_of_a_paused_queue_is_not_claimed
                a_delayed_new_task_is_not_claimed
                a_repeated_fused_commit_gets_its_claims_again
                a_fused_commit_may_end_its_run
                a_run_that_ends_with_a_fused_commit_is_kept_like_any_other
                a_fused_commit_that_ends_its_run_is_refused_when_anything_moved
                of_runs_that_end_together_each_ends_or_is_refused_alone
                a_fused_commit_may_finish_a_task_for_good
                a_fused_commit_that_cancels_a_task_is_ready_for_the_answer
                a_fused_commit_racing_a_delivery_loses_nothing
                a_fused_commit_racing_a_take_over_has_one_winner
            }
            messages {
                messages_arrive_in_order_and_once
                a_consumed_message_is_not_delivered_again
                signals_wait_until_asked_for
                a_withdrawn_wait_takes_no_signal
                a_message_for_nobody_is_not_found
                deliveries_of_one_request_are_answered_in_order
                an_approval_is_decided_once
                a_message_carries_who_why_and_when
                a_message_during_a_claim_keeps_the_run_ready
                a_signal_that_arrives_before_its_wait_is_not_forgotten
                a_delivery_racing_a_commit_is_not_forgotten
                racing_deliveries_of_one_message_are_accepted_once
                a_long_inbox_shows_first_what_can_be_consumed
                an_inbox_has_a_limit
                payloads_come_back_as_they_were
            }
            starts {
                a_new_run_is_pending_and_begins_with_its_start
                the_start_comes_before_messages_that_overtook_it
                the_same_run_again_exists
                another_input_under_the_same_id_conflicts
                runs_of_one_request_are_created_alone
                definitions_are_kept_by_version
                two_processes_creating_one_run_create_it_once
                a_run_paused_before_its_start_still_starts
                a_lost_start_is_given_again
                a_chosen_run_id_cannot_be_that_of_a_child_or_task
                nothing_brings_a_delayed_start_forward
                a_delayed_run_can_be_ended_before_its_start
                a_delayed_run_released_for_later_can_still_be_ended
            }
            endings {
                a_completed_run_leaves_nothing_waiting
                a_cancelled_run_leaves_nothing_waiting
                a_failed_run_keeps_what_reopening_needs
                an_ended_run_takes_no_messages_unless_it_failed
                tasks_of_an_ended_run_finish_detached
                a_late_failure_of_an_ended_run_is_a_letter
                a_late_answer_to_a_failed_run_waits
                an_output_is_any_payload
                an_ended_run_keeps_what_people_ask_for
                a_failed_run_loses_its_deadline
                a_failed_run_has_its_last_wishes
            }
            reopening {
                a_reopened_run_waits_again
                a_run_that_failed_before_its_start_begins_when_it_is_opened_again
                a_reopened_run_gets_its_task_again
                a_reopened_run_gets_its_message_again
                a_reopened_run_gets_several_messages_in_order
                a_reopened_run_sees_what_arrived_meanwhile
                only_a_failed_run_is_reopened
                an_ended_run_is_opened_to_take_back_what_it_did
                nothing_is_taken_back_while_a_task_is_under_way
                taking_back_on_a_moved_revision_is_refused
                reopening_on_a_moved_revision_is_refused
                reopening_with_a_missing_letter_changes_nothing
                a_reopened_run_may_fail_again
                a_reopened_child_takes_its_failure_back
                a_reopened_child_takes_its_failure_back_from_who_holds_its_parent
                a_reopened_child_takes_its_failure_back_from_a_failed_parent
                a_requeued_task_takes_its_failure_back
                a_run_that_failed_at_its_start_starts_once_again
                a_start_delivered_again_is_consumed_once
                a_reopened_run_is_not_blocked_by_letters_that_are_gone
                a_reopened_run_is_no_longer_set_aside
                a_reopened_run_may_have_time_and_its_tasks_anew
                tasks_that_are_still_open_are_not_begun_anew
            }
            timers {
                a_timer_is_never_early_and_fires_once
                sweeping_processes_fire_a_timer_once
                time_never_goes_back
                answers_carry_the_worlds_time
                a_cancelled_timer_never_fires
                a_timer_that_fired_unseen_is_cancelled_too
                timers_fire_in_order_of_their_time
                thousands_of_due_timers_move_in_bounded_batches
                a_delayed_run_starts_in_time
                a_deadline_arrives_as_a_message
                a_timer_of_a_paused_run_waits_in_its_inbox
                a_fired_timer_refuses_a_fused_commit
                the_next_due_time_is_told
            }
            waking {
                due_timers_fire_with_the_commits_of_their_runs
                the_time_it_was_found_at_is_told
                of_several_due_timers_of_a_run_the_first_wakes_it
                a_timer_does_not_overtake_the_deadline_of_its_run
                runs_that_cannot_be_claimed_keep_their_due_timers
                a_paused_workflow_is_not_woken_up
                whoever_is_late_is_refused
                a_timer_that_a_sweep_fired_is_not_fired_again
                what_arrived_meanwhile_comes_first
                of_two_who_wake_up_what_is_due_one_does
                a_repeated_commit_gets_its_first_answer
                a_timer_that_fired_stays_away_when_its_run_is_opened_again
            }
            wakeups {
                work_wakes_up_other_handles
                work_wakes_up_its_own_handle
                what_becomes_due_wakes_up
                a_cancelled_task_wakes_up_its_holder
                polling_alone_finds_all_work
            }
            queue_order {
                tasks_come_by_priority_then_age
                tasks_of_one_moment_come_as_created
                a_delayed_task_is_not_claimed_early
                a_delayed_task_is_as_old_as_its_due_time
                two_claimers_never_share_a_task
                only_tasks_with_a_handler_are_claimed
                each_queue_has_a_limit_of_its_own
                overdue_tasks_are_claimed_from_any_queue
                a_paused_queue_gives_no_tasks
            }
            tasks {
                the_same_task_again_exists
                a_standalone_task_ends_with_its_output
                a_task_is_known_by_its_label_and_item
                a_retry_is_a_new_attempt_later
                attempts_are_listed_oldest_first
                a_redelivery_is_the_same_attempt
                a_released_task_is_ready_and_not_counted
                a_task_of_a_run_answers_to_its_run
                a_stale_task_claim_cannot_finish
                a_repeated_claim_gets_the_tasks_it_took
                a_repeated_claim_does_not_find_what_a_commit_took
                a_taken_over_task_refuses_its_old_holder
                a_late_finish_is_accepted_while_nobody_took_over
                finished_tasks_of_one_request_are_judged_alone
                an_old_claim_beside_the_current_one_changes_nothing
                finishing_and_taking_over_at_once_has_one_winner
                results_finished_at_once_all_arrive
                claimed_tasks_bring_the_rows_of_their_runs
                options_travel_with_their_task
            }
            cancelling {
                a_queued_task_is_removed_and_answers_cancelled
                cancelled_tasks_answer_in_one_order
                a_running_task_is_asked_to_stop
                a_cancelled_task_is_not_tried_again
                a_cancelled_task_whose_worker_is_gone_is_cancelled
                a_held_task_is_cancelled_with_its_letter
                a_task_cancelled_after_its_run_failed_still_answers
                cancelling_all_reaches_open_tasks_and_live_children
                cancelling_all_spares_what_the_same_commit_starts
                a_queued_standalone_task_is_removed
                a_running_standalone_task_is_asked_to_stop
            }
            dead_letters {
                a_task_out_of_attempts_becomes_a_dead_letter
                a_run_gets_the_failure_and_the_letter_stays
                a_held_task_blocks_its_run
                a_held_run_goes_on_with_other_messages
                a_run_that_awaits_a_held_node_is_blocked
                a_requeued_held_task_runs_again
                a_run_is_held_until_its_last_letter_is_gone
                a_requeued_standalone_task_runs_again
                a_letter_of_a_live_run_that_went_on_is_not_requeued
                a_letter_its_run_handled_before_it_failed_is_not_requeued
                a_failure_the_run_handled_is_no_dead_letter
                a_failure_the_run_handled_is_not_requeued
                a_fused_commit_settles_the_failure_it_writes
                a_task_that_lost_a_race_leaves_no_dead_letter
                a_run_may_fail_of_what_it_had_handled
                the_fate_of_a_failure_follows_its_run
                a_requeued_task_of_a_run_that_is_over_stands_alone
                a_letter_keeps_what_became_of_it
                a_discarded_letter_is_gone
                a_discarded_letter_tells_the_run_held_for_it
                an_unknown_letter_is_not_found
                letters_are_found_by_run_and_queue
            }
            liveness {
                a_heartbeat_renews_claims
                a_heartbeat_tells_which_claims_are_lost
                progress_reaches_the_next_delivery
                expired_claims_are_freed
                a_dead_process_frees_its_claims
                a_live_process_keeps_its_claims
                a_silent_worker_is_given_up
                a_reader_sees_that_a_process_is_gone
                a_reader_sees_that_a_worker_is_silent
                a_worker_is_listed_while_it_is_there
                whoever_leaves_takes_only_itself_off_the_list
                a_death_frees_only_its_own_claims
            }
            children {
                a_child_begins_with_its_parents_commit
                a_delayed_child_starts_in_time
                a_child_tells_its_parent_in_its_last_commit
                a_message_for_a_run_that_is_gone_is_dropped
                a_message_for_a_failed_run_waits_for_its_reopening
                a_signal_between_runs_waits_until_asked_for
                a_run_may_write_to_itself
                runs_of_one_batch_may_write_to_each_other
                runs_writing_to_each_other_at_once_do_not_block
            }
            control {
                a_paused_run_is_not_claimed
                pausing_and_resuming_are_written_down
                a_resumed_run_goes_on_after_the_operators_rows
                pausing_stops_a_transition_under_way
                a_task_finished_while_its_run_is_paused_is_not_lost
                an_unknown_run_is_not_found
                runs_of_a_paused_workflow_wait
                a_queue_and_a_workflow_of_one_name_are_two_things
                a_claim_from_before_a_workflows_pause_still_commits
                names_may_be_paused_before_they_exist
                an_annotation_is_one_row_of_history
                an_annotation_refuses_the_transition_under_way
                an_unblocked_run_is_tried_again
                an_unblocked_run_refuses_a_fused_commit_that_did_not_see_it
                pausing_does_not_hide_lost_claims
            }
            node_types {
                a_node_type_is_kept_as_it_was_put
                a_node_type_belongs_to_its_tenant
            }
            schedules {
                the_next_schedule_is_told
                a_schedule_is_kept_as_it_was_put
                a_schedule_is_due_when_its_time_has_come
                a_schedule_fires_once_for_each_time
                a_schedule_may_start_tasks
                a_paused_schedule_does_not_fire
                an_unknown_schedule_is_not_found
            }
            upkeep {
                retention_removes_all_of_a_run
                retention_removes_ended_standalone_tasks
                a_pending_letter_of_a_standalone_task_is_kept
                a_pending_letter_keeps_its_run_and_the_runs_above_it
                a_failed_run_is_kept_longer_unless_it_is_dismissed
                a_deleted_run_leaves_nothing
                what_is_in_use_is_not_deleted
                retention_never_touches_what_is_alive
                a_run_is_kept_while_its_tasks_are_under_way
                a_run_nothing_will_wake_is_reported_once
                a_run_with_a_reason_to_wait_is_not_stuck
                ready_runs_nobody_can_step_are_marked
                runs_with_a_task_nobody_can_do_are_marked
                ready_work_is_told_by_what_it_needs
                a_marked_run_can_be_claimed
                a_sweep_tells_whether_there_is_work
                a_sweep_that_cancels_a_task_tells_of_its_run
                a_sweep_does_at_most_so_much
                a_sweep_adds_little_to_what_is_ready
                every_duty_is_safe_in_every_process_at_once
            }
            durability {
                acknowledged_work_survives_reopening
                claims_survive_reopening
                a_commit_can_be_repeated_after_reopening
                finished_runs_stay_readable_until_retention
            }
            kept {
                an_artifact_is_kept_until_it_is_removed
                a_kept_blob_is_not_collected
                what_is_not_there_cannot_be_kept
                an_artifact_belongs_to_its_tenant
            }
            artifacts {
                versions_are_numbered_in_the_order_of_their_registration
                of_versions_registered_at_once_each_has_a_number
                a_tag_moves_and_remembers_every_move
                a_version_is_stored_beside_the_current_one
                a_repeated_move_of_a_tag_is_one
                a_tag_points_at_a_version_that_is_there
                a_removed_tag_keeps_its_history
                of_two_moves_of_a_tag_one_wins
                a_patched_version_is_current_and_kept_with_its_patch
                a_patch_of_a_tagged_version_leaves_the_current_one
                a_repeated_patch_of_a_workflow_is_one
                of_two_patches_of_one_version_one_wins
                of_two_patches_of_one_tag_one_wins
                what_was_registered_meanwhile_is_not_overwritten
            }
            blobs {
                a_blob_comes_back_as_it_was
                storing_a_blob_twice_is_storing_it_once
                an_unknown_blob_is_not_found
                a_large_value_travels_by_reference
            }
            collecting {
                what_anything_names_is_never_collected
                what_nothing_names_is_collected_after_the_grace
                a_blob_stored_again_is_not_collected
                blobs_are_collected_in_small_pieces
            }
            referring {
                a_commit_that_refers_to_a_collected_blob_is_refused
                a_commit_keeps_its_blobs_from_a_collector_that_is_about_to_take_them
                of_a_commit_and_a_collector_one_wins
                first_commits_and_forks_need_their_blobs_too
                a_fused_commit_needs_its_blobs_too
            }
            records {
                a_cursor_nobody_gave_is_refused
                a_walk_through_runs_meets_each_once
                a_run_that_takes_back_what_it_did_says_so
                versions_are_listed_with_their_open_runs
                runs_are_found_by_what_they_are
                runs_are_found_by_all_of_their_labels
                a_listed_run_is_the_one_of_its_picture
                a_walk_through_tasks_meets_each_once
                tasks_are_found_by_what_they_are
                a_walk_through_letters_meets_each_once
                queues_are_counted
                health_names_the_world
            }
            approvals {
                an_approval_tells_what_became_of_it
                the_first_answer_counts
                an_approval_of_an_ended_run_is_cancelled
                approvals_are_found_by_what_they_are
                a_walk_through_approvals_meets_each_once
            }
            tenants {
                cancelled_tasks_of_one_name_end_for_each_tenant
                a_tenant_lists_only_its_own
                a_tenant_claims_and_moves_only_its_own
                a_tenant_controls_only_its_own
                a_blob_is_read_by_its_tenant_only
                the_same_ids_in_two_tenants_are_two_things
                upkeep_serves_every_tenant
            }
        }
    };
}
