package all

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/rollmill/rollmill/formats/chat/trainset"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/art"
	"github.com/rollmill/rollmill/stages/backends/command"
	"github.com/rollmill/rollmill/stages/backends/customizer"
	"github.com/rollmill/rollmill/stages/backends/file"
	"github.com/rollmill/rollmill/stages/backends/openai"
)

// TestIdentities pins what of the settings decides a submission's key, as the
// ledgers of runs hold it: a flag that is renamed, or a new setting, changes none.
func TestIdentities(t *testing.T) {
	half, seed, zero, many := 0.5, int64(7), 0.0, 4096
	object := map[string]any{"a": 1, "b": "text", "c": true}
	place := backends.Place{Begin: func(context.Context) (backends.Draft, error) { return nil, nil }, Read: func(context.Context, string) ([]byte, error) {
		return nil, nil
	}}
	list := []struct {
		name string
		tr   func() (backends.Trainer, error)
		want string
	}{
		{"art", func() (backends.Trainer, error) { return wrap(art.New(art.Config{})) },
			`{"base-model":"\"Qwen/Qwen2.5-7B-Instruct\"","beta":"0","learning-rate":"0.00005"}`},
		{"art all", func() (backends.Trainer, error) {
			return wrap(art.New(art.Config{Name: "n", Project: "p", BaseModel: "m", Training: art.Training{LearningRate: &half, Beta: &half, KLPenalty: &zero},
				InitArgs: art.InitArgs{MaxSeqLength: &many, More: object}, PeftArgs: object, TrainArgs: object, Internal: object, DevConfig: object,
				ServerArgs: object, AcceptPlainAssistant: true, Target: "t", DeleteOldCheckpoints: true}))
		}, `{"accept-plain-assistant":"true","base-model":"\"m\"","beta":"0.5","dev-config.a":"1","dev-config.b":"pbkdf2-sha256:eede9328b6f0055241a7ef229b873b9b","dev-config.c":"true","init-args.a":"1","init-args.b":"pbkdf2-sha256:eede9328b6f0055241a7ef229b873b9b","init-args.c":"true","init-args.max_seq_length":"4096","internal-config.a":"1","internal-config.b":"pbkdf2-sha256:eede9328b6f0055241a7ef229b873b9b","internal-config.c":"true","kl-penalty-coef":"0","learning-rate":"0.5","peft-args.a":"1","peft-args.b":"pbkdf2-sha256:eede9328b6f0055241a7ef229b873b9b","peft-args.c":"true","trainer-args.a":"1","trainer-args.b":"pbkdf2-sha256:eede9328b6f0055241a7ef229b873b9b","trainer-args.c":"true"}`},
		{"art zero", func() (backends.Trainer, error) {
			return wrap(art.New(art.Config{Training: art.Training{LearningRate: &zero}}))
		}, `{"base-model":"\"Qwen/Qwen2.5-7B-Instruct\"","beta":"0","learning-rate":"0"}`},
		{"openai", func() (backends.Trainer, error) {
			return wrap(openai.New(openai.Config{BaseURL: "http://tune.test/v1", Model: "m", Choice: trainset.Choice{Best: 1}}))
		}, `{}`},
		{"openai all", func() (backends.Trainer, error) {
			return wrap(openai.New(openai.Config{BaseURL: "http://tune.test/v1", Model: "m", Choice: trainset.Choice{Best: 3}, Suffix: "s", Seed: &seed, Hyperparameters: map[string]any{"n_epochs": 2}, Validation: 0.1,
				SplitSeed: 5}))
		}, `{"best":"3","hyperparameters.n_epochs":"2","job-seed":"7","split-seed":"5","suffix":"\"s\"","validation-share":"0.1"}`},
		{"openai dpo", func() (backends.Trainer, error) {
			return wrap(openai.New(openai.Config{BaseURL: "http://tune.test/v1", Model: "m", Method: "dpo", Choice: trainset.Choice{Best: 3}, SplitSeed: 5}))
		}, `{}`},
		{"customizer", func() (backends.Trainer, error) {
			return wrap(customizer.New(customizer.Config{EntityURL: "http://a", DatastoreURL: "http://b", Config: "meta/m@v1", Choice: trainset.Choice{Best: 1}}))
		}, `{"validation-share":"0.2"}`},
		{"customizer all", func() (backends.Trainer, error) {
			return wrap(customizer.New(customizer.Config{EntityURL: "http://a", DatastoreURL: "http://b", Config: "meta/m@v1", Choice: trainset.Choice{Best: -1}, OutputModel: "a/b",
				Hyperparameters: map[string]any{"epochs": 2}, DatasetParameters: object, Validation: 0.3, SplitSeed: 9, Project: "p"}))
		}, `{"best":"-1","dataset-parameters.a":"1","dataset-parameters.b":"pbkdf2-sha256:eede9328b6f0055241a7ef229b873b9b","dataset-parameters.c":"true","hyperparameters.epochs":"2","output-model":"\"a/b\"","split-seed":"9","validation-share":"0.3"}`},
		{"file", func() (backends.Trainer, error) {
			return wrap(file.New(file.Config{Choice: trainset.Choice{Best: 1}}, place))
		}, `{}`},
		{"file all", func() (backends.Trainer, error) {
			return wrap(file.New(file.Config{Choice: trainset.Choice{Best: 4}, AcceptPlainAssistant: true, Kinds: []string{"art"}}, place))
		}, `{"accept-plain-assistant":"true"}`},
		{"file weights", func() (backends.Trainer, error) {
			return wrap(file.New(file.Config{Choice: trainset.Choice{Best: 1}, RowWeight: "sequence", Kinds: []string{"slime"}}, place))
		}, `{"row-weight":"\"sequence\""}`},
		{"command", func() (backends.Trainer, error) {
			return wrap(command.New(command.Config{Words: []string{"x"}}, backends.Place{}))
		}, `{}`},
		{"command forms", func() (backends.Trainer, error) {
			return wrap(command.New(command.Config{Words: []string{"x"}, Forms: []string{"sequences"}, RowWeight: "trajectory"}, place))
		}, `{"form":"[\"sequences\"]","row-weight":"\"trajectory\""}`},
		{"command named form", func() (backends.Trainer, error) {
			return wrap(command.New(command.Config{Words: []string{"x"}, Forms: []string{"trl-preference.parquet"}}, place))
		}, `{"form":"[\"trl-preference-parquet\"]"}`},
		{"command all", func() (backends.Trainer, error) {
			return wrap(command.New(command.Config{Words: []string{"x"}, Settings: map[string]string{"lr": "1e-5", "t": "text"}, NewModel: true, Model: "m",
				Target: "t"}, backends.Place{}))
		}, `{"settings.lr":"1e-5","settings.t":"pbkdf2-sha256:97a6835c2c65f16c81dd2db9b043339c"}`},
	}
	for _, c := range list {
		tr, err := c.tr()
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got, err := json.Marshal(tr.Identity()); err != nil || string(got) != c.want {
			t.Errorf("%s: %v\n got %s\nwant %s", c.name, err, got, c.want)
		}
	}
}

func wrap[T backends.Trainer](t T, err error) (backends.Trainer, error) { return t, err }
