package monitors

import dto "github.com/prometheus/client_model/go"

// metric is the definition of a metric.
type metric struct {
	name, help string
	kind       dto.MetricType
}

var (
	counter = dto.MetricType_COUNTER
	gauge   = dto.MetricType_GAUGE

	done     = metric{"rollmill_stage_done", "Items of the stage that are done, such as trajectories.", gauge}
	expected = metric{"rollmill_stage_expected", "Items of the stage in all; absent if unknown.", gauge}
	seconds  = metric{"rollmill_stage_duration_seconds", "How long the stage has run.", gauge}
	epoch    = metric{"rollmill_epoch", "Epoch that the stage works on.", gauge}
	rows     = metric{"rollmill_rows_total", "Rows of the dataset by state, when the stage has ended.", counter}
	drops    = metric{"rollmill_drops_total", "Rows that were dropped, by reason, when the stage has ended.", counter}
	failures = metric{"rollmill_failures_total", "Rows that failed, by class.", counter}
	retries  = metric{"rollmill_retries_total", "Repeated requests to services and stores.", counter}
	tokens   = metric{"rollmill_tokens_total", "Tokens of the calls to models that this stage pays for.", counter}
	cost     = metric{"rollmill_cost_total",
		"What these calls cost, in whatever the prices are in; absent without prices.", counter}
	reward  = metric{"rollmill_reward_mean", "Mean of a reward over the rows that have it; reward=\"\" is the total.", gauge}
	trainer = metric{"rollmill_trainer_metric", "A figure that the trainer reported.", gauge}

	running  = metric{"rollmill_running", "1 while the command runs, then 0.", gauge}
	exit     = metric{"rollmill_exit_code", "Exit code of the last run that has ended.", gauge}
	ended    = metric{"rollmill_last_end_timestamp_seconds", "When the last run ended.", gauge}
	success  = metric{"rollmill_last_success_timestamp_seconds", "When a run last ended with exit code 0.", gauge}
	duration = metric{"rollmill_duration_seconds", "How long the last run took that has ended.", gauge}
)
