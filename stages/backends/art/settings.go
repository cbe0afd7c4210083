package art

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/plugin"
)

var Kind = backends.Kind{
	Name: "art", Help: "an OpenPipe ART server (or the sandbox) trains by GRPO over HTTP",
	New: func() backends.TrainerSettings { return defaults() },
}

func defaults() *Config { return new(Config{}.WithDefaults()) }

// Declare declares the settings. Those for serving the model and for keeping
// checkpoints do not change the outcome, and are not part of the identity.
func (c *Config) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Submission)
	d.Func(func() any { return fmt.Sprintf("http://%s:%d", c.IP, c.Port) }, c.setURL, "url",
		"use the ART control server at this `URL`").FromReceipt(urlIn).Common()
	d.String(&c.Name, "name", "train the model `NAME`").FromReceipt(plugin.InModel(`/(.*)`)).WrittenToRows().Common()
	d.String(&c.Project, "project", "train the model of this `PROJECT`").FromReceipt(plugin.InModel(`^([^/]*)`)).WrittenToRows()
	d.String(&c.BaseModel, "base-model", "train from this `MODEL`; it must be the server's").IDAlways("base-model").
		WrittenToRows().Common()
	d.Key(&c.APIKey, "api-key-file", "read the inference port's key from this `FILE`", "ROLLMILL_API_KEY").
		DefaultShown("ROLLMILL_API_KEY, else the word default")
	d.OptionalFloat(&c.Training.LearningRate, "learning-rate", "train with this learning `RATE`").
		IDAlways("learning-rate").Common()
	d.OptionalFloat(&c.Training.Beta, "beta", "train with this KL `COEFFICIENT`; ART 0.5.12 and later ignores it").
		IDAlways("beta")
	d.OptionalFloat(&c.Training.KLPenalty, "kl-penalty-coef",
		"train with this KL `COEFFICIENT` (ART 0.5.12 and later; replaces beta)").ID("kl-penalty-coef").DefaultShown("none")
	d.Bool(&c.DeleteOldCheckpoints, "delete-old-checkpoints", "keep only the newest and the best checkpoint, before training")
	d.String(&c.CheckpointMetric, "checkpoint-metric", "choose the best checkpoint by this `METRIC`")
	plugin.List(d, &c.KeepCheckpoints, "keep-checkpoints",
		"also keep the checkpoint of this `STEP` where the server does not know the best one (0.5.8 and later)", parseStep)
	plugin.Into(d, &c.InitArgs, "init-args", "load the model with `KEY=VALUE`: max_seq_length, ...").ID("init-args")
	plugin.Into(d, &c.EngineArgs, "engine-args",
		"start vLLM with `KEY=VALUE`: gpu_memory_utilization, tensor_parallel_size, ...")
	d.Objects(&c.PeftArgs, "peft-args", "make the adapter with `KEY=VALUE`: r, lora_alpha, ...").ID("peft-args")
	d.Objects(&c.TrainArgs, "trainer-args", "give the trainer `KEY=VALUE`").ID("trainer-args")
	d.Objects(&c.Internal, "internal-config", "set further `KEY=VALUE` of the model's internal config").ID("internal-config")
	d.Objects(&c.ServerArgs, "server-args", "start the inference server with `KEY=VALUE`: host, port, ...")
	d.Objects(&c.DevConfig, "dev-config", "set `KEY=VALUE` of a training call: scale_rewards, epsilon, ...").ID("dev-config")
	d.String(&c.Target, "target", "record this trainer as `NAME` in the ledger, if its address changes").FromReceipt(targetIn)
	d.Duration(&c.ReadTimeout, "read-timeout",
		"stop reading the answer if the server sends nothing for `TIME` while training, and look at its step instead").
		DefaultShown("none")
	d.Bool(&c.AcceptPlainAssistant, "accept-plain-assistant",
		"send rows whose input holds assistant messages, although ART trains on them").ID("accept-plain-assistant")
}

func (c *Config) setURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" || u.Hostname() == "" || u.Path != "" && u.Path != "/" {
		return plugin.Badf("write http://HOST:PORT, without a path", "it is not the URL of a control server")
	}
	port := 80
	if u.Port() != "" {
		if port, err = strconv.Atoi(u.Port()); err != nil {
			return err
		}
	}
	c.IP, c.Port = u.Hostname(), port
	return nil
}

func parseStep(text string) (int64, error) {
	step, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not the number of a step", text)
	}
	return step, nil
}

// A receipt's model is PROJECT/NAME. Its address is the URL, or the name that replaces it.

func urlIn(address, _ string) string {
	if !strings.HasPrefix(address, "http://") {
		return ""
	}
	return address
}

func targetIn(address, _ string) string {
	if strings.HasPrefix(address, "http://") {
		return ""
	}
	return address
}

// Identity adds the part of the arguments that changes the outcome.
func (a InitArgs) Identity(add func(name string, v any)) {
	add("max_seq_length", a.MaxSeqLength)
	add("", a.More)
}

func (c *Config) Trainer(backends.Setup) (backends.Trainer, error) {
	return backends.Made(New(*c))
}

// Identity returns the settings that change the outcome of a batch.
func (t *Trainer) Identity() backends.Identity { return backends.IdentityOf(&t.cfg, defaults()) }

func (t *Trainer) Describe() backends.Description {
	return backends.Description{Effect: backends.AdvancesPolicy, Private: true, WriteRows: t.WriteRows}
}
