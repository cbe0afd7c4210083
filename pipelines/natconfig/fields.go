package natconfig

// The models of NAT, one table each. Where a value is converted together with
// others, the line has no key, and the file of its section converts it.

// top is the file (nat.data_models.config.Config).
var top = append([]field{
	{name: "finetuning", shape: mapping},
	{name: "trajectory_builders", shape: mapping},
	{name: "trainer_adapters", shape: mapping},
	{name: "trainers", shape: mapping},
	{name: "eval", shape: mapping},
	{name: "base", shape: word, kind: Changed,
		note: "NAT merges this file below; the converter reads one file, so merge them first"},
}, stays...)

// stays are the sections that only the workflow's server reads.
var stays = mappings("llms", "workflow", "general", "functions", "function_groups", "middleware", "embedders", "memory",
	"object_stores", "optimizer", "retrievers", "ttc_strategies", "authentication")

func mappings(names ...string) (out []field) {
	for _, name := range names {
		out = append(out, field{name: name, shape: mapping})
	}
	return out
}

// finetuningFields are those of FinetuneConfig.
var finetuningFields = []field{
	{name: "enabled", shape: toggle},
	{name: "trainer", shape: word},
	{name: "trajectory_builder", shape: word},
	{name: "trainer_adapter", shape: word},
	{name: "reward_function", shape: mapping, inner: []field{{name: "name", shape: word}}},
	{name: "target_functions", shape: words, to: "rollout.target-function", def: "<workflow>"},
	{name: "target_model", shape: word},
	{name: "curriculum_learning", shape: mapping},
	{name: "num_epochs", shape: whole, to: "train.epochs", def: "1"},
	{name: "output_dir", shape: word, to: "root", def: "./.tmp/nat/finetuning/", kind: Changed,
		note: "holds the datasets of every epoch too, and NAT's history files when `rollmill report` has run"},
	{name: "run_configuration", shape: anything, kind: Ignored, note: "the options of the command line replace it"},
}

// curriculumFields are those of CurriculumLearningConfig.
var curriculumFields = []field{
	{name: "enabled", shape: toggle, to: "curate.curriculum", kind: Changed,
		note: "NAT writes the state to curriculum_state.json and never reads it back, so a restarted run begins at the " +
			"initial share; here an epoch continues the previous one"},
	{name: "initial_percentile", shape: number, to: "curate.curriculum-initial", def: "0.3"},
	{name: "increment_percentile", shape: number, to: "curate.curriculum-increment", def: "0.2"},
	{name: "expansion_interval", shape: whole, to: "curate.curriculum-interval", def: "5", kind: Changed,
		note: "NAT expands for the first time one epoch early (epoch 4 with an interval of 5; with 1 it never uses the " +
			"initial share); curate.compat: nat repeats that"},
	{name: "min_reward_diff", shape: number, to: "curate.min-reward-diff", def: "0.1"},
	{name: "sort_ascending", shape: toggle, to: "curate.curriculum-ascending"},
	{name: "random_subsample", shape: number, to: "curate.random-subsample", kind: Changed,
		note: "NAT keeps a share of the groups, drawn without a seed; here it is a share of each group's trajectories, as " +
			"NAT documents it, drawn by curate.seed"},
}

// reward is a field that every component has.
var reward = field{name: "reward", shape: anything, kind: Ignored, note: "NAT replaces it by finetuning.reward_function"}

// typeField is the name of a component's type.
var typeField = field{name: "_type", shape: word}

// builders are the trajectory builders, by type.
var builders = map[string][]field{
	artBuilder: {typeField, reward,
		{name: "num_generations", shape: whole, to: "rollout.generations", def: "2"},
	},
	dpoBuilder: {typeField, reward,
		{name: "ttc_step_name", shape: word, kind: Changed,
			note: "rollout keeps the candidates of every TTC_END step, whatever its name"},
		{name: "exhaustive_pairs", shape: toggle},
		{name: "min_score_diff", shape: number, to: "group.pair-margin", def: "0.0"},
		{name: "max_pairs_per_turn", shape: whole, to: "group.pair-limit"},
		{name: "reward_from_score_diff", shape: toggle, kind: Dropped,
			note: "NAT uses this reward only in its logs; a pair of rollmill holds both scores and their difference"},
		{name: "require_multiple_candidates", shape: toggle, kind: Dropped,
			note: "a turn with one candidate makes no pair, in NAT as here"},
		{name: "custom_step_name", shape: word, kind: Ignored,
			note: "NAT's own example has this field, but NAT reads ttc_step_name"},
	},
}

// adapters are the trainer adapters, by type.
var adapters = map[string][]field{
	artAdapter: {typeField, reward,
		{name: "backend", shape: mapping},
		{name: "training", shape: mapping},
	},
	customizerAdapter: customizerFields,
}

// artBackend are the fields of ARTBackendConfig.
var artBackend = []field{
	{name: "ip", shape: word},
	{name: "port", shape: whole},
	{name: "name", shape: word, to: "submit.name", def: "trainer_run"},
	{name: "project", shape: word, to: "submit.project", def: "trainer_project"},
	{name: "base_model", shape: word, to: "submit.base-model", def: "Qwen/Qwen2.5-7B-Instruct"},
	{name: "api_key", shape: word},
	{name: "delete_old_checkpoints", shape: toggle, to: "submit.delete-old-checkpoints", kind: Changed,
		note: "NAT calls a route that ART 0.4 servers do not have, and goes on when that fails; here the newest and the " +
			"best checkpoint stay"},
	{name: "init_args", shape: mapping, to: "submit.init-args"},
	{name: "engine_args", shape: mapping, to: "submit.engine-args"},
	{name: "server_config", shape: mapping, inner: []field{
		{name: "log_file", shape: word, kind: Dropped, note: "start the ART server with the log that you want"},
		{name: "server_args", shape: mapping, to: "submit.server-args"},
		{name: "engine_args", shape: mapping, kind: Dropped,
			note: "put them into backend.engine_args, which rollmill sends with the model"},
	}},
}

// customizerFields are those of NeMoCustomizerTrainerAdapterConfig.
var customizerFields = []field{typeField, reward,
	{name: "entity_host", shape: word, to: "submit.entity-url"},
	{name: "datastore_host", shape: word, to: "submit.datastore-url"},
	{name: "hf_token", shape: word, kind: Changed,
		note: "a token is not copied: put that of the Data Store into NEMO_DATASTORE_TOKEN"},
	{name: "namespace", shape: word, to: "submit.namespace"},
	{name: "dataset_name", shape: word, to: "submit.dataset-name", def: "nat-dpo", kind: Changed,
		note: "the digest of the content follows the name, so that a job never trains on files of an earlier run"},
	{name: "dataset_output_dir", shape: word, kind: Dropped,
		note: "the curated dataset stays in the run's folder; rollmill submit --backend file --kinds customizer-dpo writes " +
			"the JSON lines"},
	{name: "create_namespace_if_missing", shape: toggle, kind: Changed, note: "rollmill always creates a missing namespace"},
	{name: "customization_config", shape: word, to: "submit.customization-config"},
	{name: "hyperparameters", shape: mapping},
	{name: "use_full_message_history", shape: toggle},
	{name: "deploy_on_completion", shape: toggle},
	{name: "deployment_config", shape: mapping},
	{name: "poll_interval_seconds", shape: number},
	{name: "deployment_timeout_seconds", shape: number, kind: Dropped,
		note: "rollmill waits for a deployment without a limit of its own; submit.timeout limits the whole wait"},
	{name: "max_consecutive_status_failures", shape: whole, kind: Dropped,
		note: "rollmill asks again until submit.stall-timeout"},
}

// hyperparameters are those of NeMoCustomizerHyperparameters, which become one
// key, and its training and finetuning types.
var hyperparameters = []field{
	{name: "training_type", shape: word, to: "submit.training-type", def: "dpo"},
	{name: "finetuning_type", shape: word, to: "submit.finetuning-type", def: "all_weights"},
	{name: "epochs", shape: whole},
	{name: "batch_size", shape: whole},
	{name: "learning_rate", shape: number},
	{name: "dpo", shape: mapping},
}

// dpoHyperparameters are those of DPOSpecificHyperparameters.
var dpoHyperparameters = []field{
	{name: "ref_policy_kl_penalty", shape: number},
	{name: "preference_loss_weight", shape: number},
	{name: "preference_average_log_probs", shape: toggle},
	{name: "sft_loss_weight", shape: number},
}

// deploymentFields are those of NIMDeploymentConfig.
var deploymentFields = []field{
	{name: "image_name", shape: word},
	{name: "image_tag", shape: word},
	{name: "gpu", shape: whole},
	{name: "deployment_name", shape: word},
	{name: "description", shape: word, kind: Dropped, note: "rollmill writes its own description"},
}

// trainers are the trainers, by type.
var trainers = map[string][]field{
	artTrainer: {typeField, reward},
	customizerTrainer: {typeField, reward,
		{name: "num_runs", shape: whole, to: "rollout.generations", def: "1"},
		{name: "continue_on_collection_error", shape: toggle, kind: Changed,
			note: "a failed trajectory never ends the collection here; rollout.max-failure-rate says how many are too many"},
		{name: "deduplicate_pairs", shape: toggle},
		{name: "max_pairs", shape: whole, kind: Dropped,
			note: "NAT draws this number of pairs without a seed; use group.pair-limit for each turn, or " +
				"curate.sample-groups for a seeded share"},
		{name: "wait_for_completion", shape: toggle, to: "submit.wait", def: "true", kind: Changed,
			note: "rollmill train always waits; this is for rollmill submit"},
	},
}

// evalFields are those of EvalConfig and EvalGeneralConfig.
var evalFields = []field{
	{name: "general", shape: mapping},
	{name: "evaluators", shape: mapping},
}

var generalFields = []field{
	{name: "max_concurrency", shape: whole, to: "rollout.concurrency", def: "8", kind: Changed,
		note: "NAT runs this many at once in each of the num_generations evaluations, which run together; here it is the " +
			"number in all"},
	{name: "workflow_alias", shape: word, kind: Dropped, note: "a name for NAT's user interface"},
	{name: "output_dir", shape: word, kind: Dropped, note: "datasets are under root"},
	{name: "output", shape: anything, kind: Dropped, note: "datasets are under root; rollmill export writes other forms"},
	{name: "dataset", shape: mapping},
	{name: "profiler", shape: anything, kind: Dropped,
		note: "rollmill report and rollmill show give tokens, times and costs"},
	{name: "validate_llm_endpoints", shape: toggle, kind: Dropped, note: "run `rollmill check` before a run"},
	{name: "per_input_user_id", shape: toggle, kind: Changed,
		note: "each trajectory has a session of its own; no other way is offered"},
}

// datasetFields are those of the dataset types.
var datasetFields = []field{typeField,
	{name: "file_path", shape: word, to: "rollout.examples", def: ".tmp/nat/examples/default/default.json"},
	{name: "id_key", shape: word, to: "rollout.id-key"},
	{name: "structure", shape: mapping, inner: []field{
		{name: "disable", shape: toggle, to: "rollout.unstructured"},
		{name: "question_key", shape: word, to: "rollout.question-key"},
		{name: "answer_key", shape: word, to: "rollout.answer-key"},
		{name: "generated_answer_key", shape: word, to: "rollout.generated-answer-key"},
		{name: "trajectory_key", shape: word, kind: Dropped,
			note: "rollout makes trajectories; rollmill import --from nat reads stored ones"},
		{name: "expected_trajectory_key", shape: word, kind: Dropped,
			note: "the column stays in the example's row, where a reward reads it"},
	}},
	{name: "filter", shape: mapping, inner: []field{
		{name: "allowlist", shape: mapping},
		{name: "denylist", shape: mapping},
	}},
	{name: "s3", shape: anything, kind: Dropped,
		note: "write rollout.examples as s3://BUCKET/KEY; the credentials come from the environment"},
	{name: "remote_file_path", shape: word, kind: Dropped, note: "write rollout.examples as that URI: s3://BUCKET/KEY"},
	{name: "function", shape: word, kind: Dropped,
		note: "Python code of NAT's custom dataset; write its output to a file and name it in rollout.examples"},
	{name: "kwargs", shape: anything, kind: Dropped, note: "arguments of Python code of NAT's custom dataset"},
}

// The types that rollmill knows.
const (
	artBuilder        = "openpipe_art_traj_builder"
	artAdapter        = "openpipe_art_trainer_adapter"
	artTrainer        = "openpipe_art_trainer"
	dpoBuilder        = "dpo_traj_builder"
	customizerAdapter = "nemo_customizer_trainer_adapter"
	customizerTrainer = "nemo_customizer_trainer"
)
