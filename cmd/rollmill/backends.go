package main

import (
	"encoding/json"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/kballard/go-shellquote"
	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v4"

	"github.com/rollmill/rollmill/stages/backends/all"
	"github.com/rollmill/rollmill/stages/backends/art"
	program "github.com/rollmill/rollmill/stages/backends/command"
	"github.com/rollmill/rollmill/stages/backends/file"
	"github.com/rollmill/rollmill/stages/backends/finetune"
)

// backendFlags are the settings of all backends; one that a backend has no use
// for is not looked at by it.
func backendFlags() []cli.Flag {
	flags := inCategory("Backend art",
		&cli.StringFlag{Name: "url", Value: "http://127.0.0.1:7999", Usage: "`URL` of the control server"},
		&cli.StringFlag{Name: "name", Value: "trainer_run", Usage: "`NAME` of the model to train"},
		&cli.StringFlag{Name: "project", Value: "trainer_project", Usage: "`PROJECT` of the model"},
		&cli.StringFlag{Name: "base-model", Value: "Qwen/Qwen2.5-7B-Instruct", Usage: "train from this `MODEL`; it must be the server's"},
		&cli.StringFlag{Name: "api-key-file", Usage: "read the inference port's key from this `FILE`; default: ROLLMILL_API_KEY, else the word default"},
		&cli.Float64Flag{Name: "learning-rate", Value: 5e-5, Usage: "step by `RATE`"},
		&cli.Float64Flag{Name: "beta", Usage: "`COEFFICIENT` of the KL penalty", DefaultText: "0"},
		&cli.Float64Flag{Name: "kl-penalty-coef", Usage: "`COEFFICIENT` of what took the place of beta in 0.5.12", DefaultText: "none"},
		&cli.BoolFlag{Name: "delete-old-checkpoints", Usage: "before training, keep only the newest and the best checkpoint"},
		&cli.StringFlag{Name: "checkpoint-metric", Value: "train/reward", Usage: "`METRIC` of the best one"},
		&cli.StringSliceFlag{Name: "keep-checkpoints", Usage: "`STEP` to keep beside the newest, where the server does not know the best (0.5.8 and later)"},
		&cli.StringSliceFlag{Name: "init-args", Usage: "`KEY=VALUE` that loads the model: max_seq_length, ..."},
		&cli.StringSliceFlag{Name: "engine-args", Usage: "`KEY=VALUE` for vLLM: gpu_memory_utilization, tensor_parallel_size, ..."},
		&cli.StringSliceFlag{Name: "peft-args", Usage: "`KEY=VALUE` of the adapter: r, lora_alpha, ..."},
		&cli.StringSliceFlag{Name: "trainer-args", Usage: "`KEY=VALUE` of the trainer"},
		&cli.StringSliceFlag{Name: "internal-config", Usage: "further `KEY=VALUE` of the model's internal config"},
		&cli.StringSliceFlag{Name: "server-args", Usage: "`KEY=VALUE` of the inference server: host, port, ..."},
		&cli.StringSliceFlag{Name: "dev-config", Usage: "`KEY=VALUE` of a training call: scale_rewards, epsilon, ..."},
		&cli.StringFlag{Name: "target", Usage: "`NAME` of this trainer in the ledger, for one whose address changes"},
		&cli.DurationFlag{Name: "read-timeout", Usage: "longest silence while it trains: `TIME`", DefaultText: "none"},
		&cli.BoolFlag{Name: "accept-plain-assistant", Usage: "send rows whose input holds assistant messages, although ART trains on them"},
	)
	flags = append(flags, openaiFlags()...)
	flags = append(flags, customizerFlags()...)
	flags = append(flags, hubFlags()...)
	flags = append(flags, inCategory("Backend command",
		&cli.StringFlag{Name: "trainer", Usage: "the program that trains: `WORDS` split as a shell would"},
		&cli.StringSliceFlag{Name: "trainer-env", Usage: "pass the environment variable `NAME` to the program; without it the program gets none that is named like a secret (KEY, TOKEN, PASSWORD, ...)"},
		&cli.StringSliceFlag{Name: "settings", Usage: "`KEY=VALUE` that the program is told"},
		&cli.BoolFlag{Name: "new-model", Usage: "each submission makes a new model, so an epoch may be submitted in several forms; default: all submissions advance one policy, and an epoch trains it once"})...)
	flags = append(flags, inCategory("What supervised training imitates",
		&cli.IntFlag{Name: "best", Value: 1, Usage: "the `N` best conversations of each group; -1: all that are left (backends openai, customizer, file and hub)"})...)
	return append(flags, inCategory("Backend file",
		&cli.StringSliceFlag{Name: "kinds", Usage: "write this `KIND` of file: " + words(file.Kinds()) + "; default: all"})...)
}

// backendConfig reads them.
func backendConfig(s *session, c *cli.Context) (all.Config, error) {
	a := art.Config{
		Name: c.String("name"), Project: c.String("project"), BaseModel: c.String("base-model"),
		DeleteOldCheckpoints: c.Bool("delete-old-checkpoints"), CheckpointMetric: c.String("checkpoint-metric"), Target: c.String("target"),
		AcceptPlainAssistant: c.Bool("accept-plain-assistant"), ReadTimeout: c.Duration("read-timeout"),
		Training: art.Training{LearningRate: float(c, "learning-rate"), Beta: float(c, "beta"), KLPenalty: float(c, "kl-penalty-coef")},
	}
	config := all.Config{File: file.Config{Kinds: c.StringSlice("kinds"), AcceptPlainAssistant: a.AcceptPlainAssistant, Best: c.Int("best")}}
	var err error
	if a.IP, a.Port, err = hostPort(c.String("url")); err != nil {
		return config, err
	}
	if a.APIKey, err = s.apiKey(c.String("api-key-file"), "ROLLMILL_API_KEY"); err != nil {
		return config, err
	}
	for _, text := range c.StringSlice("keep-checkpoints") {
		step, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return config, usage("write the number of a step", "--keep-checkpoints %q", text)
		}
		a.KeepCheckpoints = append(a.KeepCheckpoints, step)
	}
	for name, section := range map[string]*map[string]any{"peft-args": &a.PeftArgs, "trainer-args": &a.TrainArgs,
		"internal-config": &a.Internal, "server-args": &a.ServerArgs, "dev-config": &a.DevConfig} {
		if *section, err = object(c, name); err != nil {
			return config, err
		}
	}
	if err = into(c, "init-args", &a.InitArgs); err == nil {
		err = into(c, "engine-args", &a.EngineArgs)
	}
	if err == nil {
		config.Command, err = commandConfig(c)
	}
	if err == nil && c.String("backend") == "openai" {
		config.OpenAI, err = openaiConfig(s, c)
	}
	if err == nil && c.String("backend") == "customizer" {
		config.Customizer, err = customizerConfig(s, c)
	}
	if err == nil && c.String("backend") == "hub" {
		config.Hub, err = hubConfig(s, c)
	}
	config.OpenAI.Best, config.Customizer.Best, config.Hub.Best = c.Int("best"), c.Int("best"), c.Int("best")
	config.ART = a
	return config, err
}

// openaiFlags are the settings of OpenAI-style fine-tuning. It trains
// --base-model and takes the key of --api-key-file.
func openaiFlags() []cli.Flag {
	return inCategory("Backend openai",
		&cli.StringFlag{Name: "fine-tuning-url", Value: "https://api.openai.com/v1", Usage: "base `URL` of the service; of Azure https://RESOURCE.openai.azure.com/openai"},
		&cli.StringFlag{Name: "method", Value: finetune.Supervised, Usage: "train by this `METHOD`: " + words(finetune.Methods)},
		&cli.BoolFlag{Name: "azure", Usage: "the service is Azure's"},
		&cli.StringFlag{Name: "api-version", Usage: "`VERSION` of Azure's API", DefaultText: "a preview of 2025"},
		&cli.StringFlag{Name: "suffix", Usage: "`TEXT` in the new model's name"},
		&cli.Int64Flag{Name: "job-seed", Usage: "`SEED` of the job", DefaultText: "the service's"},
		&cli.StringSliceFlag{Name: "hyperparameters", Usage: "`KEY=VALUE` of the method: n_epochs, batch_size, learning_rate_multiplier, beta, ...; of the backend customizer epochs, learning_rate, dpo.ref_policy_kl_penalty, lora.adapter_dim, ..."},
		&cli.StringFlag{Name: "grader", Usage: "the grader of reinforcement stands in this JSON `FILE`"},
		&cli.Float64Flag{Name: "validation-share", Usage: "hold out this `SHARE` of the examples for validation", DefaultText: "0; of the backend customizer 0.2"},
		&cli.Int64Flag{Name: "split-seed", Usage: "`SEED` that chooses them"},
		&cli.IntFlag{Name: "min-rows", Value: 10, Usage: "refuse a batch of fewer than `N` rows"},
	)
}

func openaiConfig(s *session, c *cli.Context) (finetune.Config, error) {
	config := finetune.Config{
		BaseURL: c.String("fine-tuning-url"), Method: c.String("method"), Azure: c.Bool("azure"), APIVersion: c.String("api-version"), Suffix: c.String("suffix"),
		Seed: integer64(c, "job-seed"), Validation: c.Float64("validation-share"), SplitSeed: c.Int64("split-seed"), MinRows: c.Int("min-rows"),
	}
	if c.IsSet("base-model") {
		config.Model = c.String("base-model")
	}
	config.Organization, _ = s.lookup("OPENAI_ORG_ID")
	config.Project, _ = s.lookup("OPENAI_PROJECT_ID")
	variable := "OPENAI_API_KEY"
	if config.Azure {
		variable = "AZURE_OPENAI_API_KEY"
	}
	var err error
	if config.APIKey, err = s.apiKey(c.String("api-key-file"), variable); err != nil {
		return config, err
	}
	if config.Hyperparameters, err = object(c, "hyperparameters"); err != nil {
		return config, err
	}
	if path := c.String("grader"); path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			return config, usage("", "--grader: %w", err)
		}
		if err := json.Unmarshal(data, &config.Grader); err != nil {
			return config, usage("the file holds one JSON object", "--grader %q: %w", path, err)
		}
	}
	return config, nil
}

// commandConfig reads those of the backend command. Its model is --name, when
// that is given.
func commandConfig(c *cli.Context) (program.Config, error) {
	config := program.Config{Target: c.String("target"), NewModel: c.Bool("new-model"), Settings: map[string]string{}}
	if c.IsSet("name") {
		config.Model = c.String("name")
	}
	for _, text := range c.StringSlice("settings") {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return config, usage("write --settings KEY=VALUE", "--settings %q", text)
		}
		config.Settings[key] = value
	}
	var err error
	config.PassEnv = c.StringSlice("trainer-env")
	if config.Words, err = shellquote.Split(c.String("trainer")); err != nil {
		return config, usage("", "--trainer %q: %w", c.String("trainer"), err)
	}
	return config, nil
}

// into reads an object into a struct with yaml tags.
func into(c *cli.Context, name string, v any) error {
	m, err := object(c, name)
	if err != nil || m == nil {
		return err
	}
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := yaml.Load(data, v); err != nil {
		return usage("", "--%s %s: %w", name, data, err)
	}
	return nil
}

// hostPort splits the URL of a control server; port 0 is the default.
func hostPort(text string) (string, int, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" || u.Hostname() == "" || u.Path != "" && u.Path != "/" {
		return "", 0, usage("write http://HOST:PORT", "--url %q", text)
	}
	port := 80
	if u.Port() != "" {
		port, err = strconv.Atoi(u.Port())
	}
	return u.Hostname(), port, err
}
