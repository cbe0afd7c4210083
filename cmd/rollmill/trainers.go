package main

import (
	"encoding/json"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rollmill/rollmill/stages/backends/customizer"
	"github.com/rollmill/rollmill/stages/backends/hub"
)

// customizerFlags are the settings of NeMo Customizer. It takes
// --hyperparameters, --validation-share and --split-seed too.
func customizerFlags() []cli.Flag {
	return inCategory("Backend customizer",
		&cli.StringFlag{Name: "entity-url", Usage: "`URL` of the gateway to the Entity Store, Customizer and deployments"},
		&cli.StringFlag{Name: "datastore-url", Usage: "`URL` of the Data Store"},
		&cli.StringFlag{Name: "nim-url", Usage: "`URL` of the NIM proxy, which answers for what was trained; default: nobody is asked"},
		&cli.StringFlag{Name: "namespace", Value: "default", Usage: "`NAME` of the namespace in both stores; made unless it is there"},
		&cli.StringFlag{Name: "customization-config", Usage: "train by this `CONFIGURATION`, such as meta/llama-3.2-1b-instruct@v1.0.0+A100"},
		&cli.StringFlag{Name: "training-type", Value: customizer.DPO, Usage: "train by this `TYPE`: " + words(customizer.TrainingTypes)},
		&cli.StringFlag{Name: "finetuning-type", Value: customizer.FinetuningTypes[0], Usage: "train these `WEIGHTS`: " + words(customizer.FinetuningTypes)},
		&cli.StringFlag{Name: "output-model", Usage: "the new model is called `NAMESPACE/NAME[@VERSION]`; default: after the dataset, each submission its own version"},
		&cli.StringFlag{Name: "dataset-name", Value: "rollmill", Usage: "the dataset's name begins with `NAME`; it ends in the content's digest"},
		&cli.StringSliceFlag{Name: "dataset-parameters", Usage: "`KEY=VALUE` for the job's dataset_parameters"},
		&cli.StringSliceFlag{Name: "integrations", Usage: "one of the job's integrations, as a `JSON` object; WandB's key comes from WANDB_API_KEY"},
		&cli.StringFlag{Name: "deployment-image", Usage: "when it is trained, deploy it with this NIM `IMAGE:TAG`; default: no deployment"},
		&cli.IntFlag{Name: "deployment-gpus", Value: 1, Usage: "give the deployment `N` GPUs"},
		&cli.StringFlag{Name: "deployment-name", Value: "rollmill", Usage: "the deployment's name begins with `NAME`"},
		&cli.StringSliceFlag{Name: "deployment-env", Usage: "`NAME=VALUE` in the deployment's environment"},
		&cli.StringFlag{Name: "deployment-pvc", Usage: "`SIZE` of the deployment's volume"},
	)
}

func customizerConfig(s *session, c *cli.Context) (customizer.Config, error) {
	config := customizer.Config{
		EntityURL: c.String("entity-url"), DatastoreURL: c.String("datastore-url"), NIMURL: c.String("nim-url"), Namespace: c.String("namespace"),
		Dataset: c.String("dataset-name"), Config: c.String("customization-config"), OutputModel: c.String("output-model"),
		TrainingType: c.String("training-type"), FinetuningType: c.String("finetuning-type"), Validation: c.Float64("validation-share"), SplitSeed: c.Int64("split-seed"),
		Deployment: customizer.Deployment{Name: c.String("deployment-name"), Image: c.String("deployment-image"), GPUs: c.Int("deployment-gpus"), PVC: c.String("deployment-pvc"), Env: map[string]string{}},
	}
	if c.IsSet("project") {
		config.Project = c.String("project")
	}
	var err error
	if config.APIKey, err = s.apiKey(c.String("api-key-file"), "NEMO_API_KEY"); err != nil {
		return config, err
	}
	for variable, key := range map[string]*string{"NEMO_DATASTORE_TOKEN": &config.DatastoreToken, "ROLLMILL_API_KEY": &config.NIMKey, "WANDB_API_KEY": &config.WandBKey} {
		if *key, err = s.apiKey("", variable); err != nil {
			return config, err
		}
	}
	if config.Hyperparameters, err = object(c, "hyperparameters"); err != nil {
		return config, err
	}
	if config.DatasetParameters, err = object(c, "dataset-parameters"); err != nil {
		return config, err
	}
	for _, text := range c.StringSlice("integrations") {
		var one map[string]any
		if err := json.Unmarshal([]byte(text), &one); err != nil || one == nil {
			return config, usage(`write --integrations '{"type":"wandb"}'`, "--integrations %q is not a JSON object", text)
		}
		config.Integrations = append(config.Integrations, one)
	}
	for _, text := range c.StringSlice("deployment-env") {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return config, usage("write --deployment-env NAME=VALUE", "--deployment-env %q", text)
		}
		config.Deployment.Env[name] = value
	}
	return config, nil
}

// hubFlags are the settings of dataset repositories. They take
// --validation-share and --split-seed too.
func hubFlags() []cli.Flag {
	return inCategory("Backend hub",
		&cli.StringFlag{Name: "hub-url", Usage: "`URL` of the store; default: HF_ENDPOINT, else https://huggingface.co"},
		&cli.StringFlag{Name: "repository", Usage: "push to the dataset repository `OWNER/NAME`; made unless it is there"},
		&cli.StringFlag{Name: "branch", Value: "main", Usage: "commit to this `BRANCH`"},
		&cli.BoolFlag{Name: "private", Usage: "a repository that is made is private"},
		&cli.StringSliceFlag{Name: "tables", Usage: "push this `TABLE`: " + words(hub.Tables()) + "; default: " + hub.Trajectories},
		&cli.BoolFlag{Name: "keep-earlier", Usage: "leave earlier batches beside this one; default: it replaces them, and they stay in the history"},
		&cli.Int64Flag{Name: "file-bytes", Value: 500e6, Usage: "begin another file after `N` bytes"},
	)
}

func hubConfig(s *session, c *cli.Context) (hub.Config, error) {
	config := hub.Config{
		Endpoint: c.String("hub-url"), Repo: c.String("repository"), Branch: c.String("branch"), Private: c.Bool("private"), Tables: c.StringSlice("tables"),
		Keep: c.Bool("keep-earlier"), Validation: c.Float64("validation-share"), SplitSeed: c.Int64("split-seed"), MaxFileBytes: c.Int64("file-bytes"),
	}
	if config.Endpoint == "" {
		config.Endpoint, _ = s.lookup("HF_ENDPOINT")
	}
	var err error
	config.Token, err = s.apiKey(c.String("api-key-file"), "HF_TOKEN")
	return config, err
}
