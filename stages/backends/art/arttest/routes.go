package arttest

// routes are those of a dialect, with the method of each.
func routes(d Dialect) map[string]string {
	out := map[string]string{"/healthcheck": "GET"}
	for _, path := range []string{"/close", "/register", "/_get_step", "/_prepare_backend_for_training",
		"/_experimental_pull_from_s3"} {
		out[path] = "POST"
	}
	if d != Later {
		out["/_train_model"] = "POST"
	}
	if d == Frontend || d == Later {
		out["/_delete_checkpoint_files"] = "POST"
	} else {
		out["/_delete_checkpoints"] = "POST"
		out["/_log"] = "POST"
	}
	return out
}

func openapi(d Dialect) any {
	paths := map[string]any{}
	for path := range routes(d) {
		paths[path] = map[string]any{}
	}
	properties := map[string]any{"messages_and_choices": 0, "tools": 0, "reward": 0, "metrics": 0, "metadata": 0, "logs": 0}
	if d != V03 {
		properties["additional_histories"] = 0
	}
	if d == V05 || d == Frontend || d == Later {
		properties["auto_metrics"] = 0
	}
	if d == Frontend || d == Later {
		properties["initial_policy_version"] = 0
	}
	schemas := map[string]any{"Trajectory": map[string]any{"properties": properties}}
	return map[string]any{"openapi": "3.1.0", "info": map[string]any{"title": "FastAPI", "version": "0.1.0"}, "paths": paths,
		"components": map[string]any{"schemas": schemas}}
}
