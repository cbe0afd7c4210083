package openai

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat/trainset"
	"github.com/rollmill/rollmill/formats/foreign/finetune"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/internal/remote"
)

const (
	Supervised = "supervised"
	DPO        = "dpo"
)

var Methods = []string{Supervised, DPO}

// Config says where and how to train.
type Config struct {
	BaseURL   string `yaml:"base_url" json:"base_url"` // of Azure https://RESOURCE.openai.azure.com/openai
	APIKey    string `yaml:"-" json:"-"`
	OpenAIKey string `yaml:"-" json:"-"` // used in place of APIKey, and AzureKey at Azure
	AzureKey  string `yaml:"-" json:"-"`
	// another header, an api-version, and beta next to the hyperparameters
	Azure      bool   `yaml:"azure" json:"azure"`
	APIVersion string `yaml:"api_version" json:"api_version"` // of Azure

	Model  string `yaml:"model" json:"model"`
	Method string `yaml:"method" json:"method"` // default supervised
	// of supervised: conversations of a group; default 1, below 0 all
	trainset.Choice `yaml:",inline"`
	Suffix          string         `yaml:"suffix" json:"suffix"` // of the new model's name
	Seed            *int64         `yaml:"seed" json:"seed"`
	Hyperparameters map[string]any `yaml:"hyperparameters" json:"hyperparameters"`

	Validation   float64       `yaml:"validation" json:"validation"` // share of the examples, chosen by SplitSeed; 0 for none
	SplitSeed    int64         `yaml:"split_seed" json:"split_seed"`
	MinRows      int           `yaml:"min_rows" json:"min_rows"`             // default 10
	MaxFileBytes int64         `yaml:"max_file_bytes" json:"max_file_bytes"` // default 512 MB
	FileTimeout  time.Duration `yaml:"file_timeout" json:"file_timeout"`     // until a file is processed; default 15m
	// until a new job is certainly listed; default 30s
	Settle time.Duration `yaml:"settle" json:"settle"`
	Poll   time.Duration `yaml:"poll" json:"poll"` // of files; default 2s
}

func (c Config) withDefaults() Config {
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	c.APIVersion = cmp.Or(c.APIVersion, "2025-04-01-preview")
	c.Method = cmp.Or(c.Method, Supervised)
	c.MinRows = cmp.Or(c.MinRows, 10)
	c.MaxFileBytes = cmp.Or(c.MaxFileBytes, 512e6)
	c.FileTimeout = cmp.Or(c.FileTimeout, 15*time.Minute)
	c.Settle = cmp.Or(c.Settle, 30*time.Second)
	c.Poll = cmp.Or(c.Poll, 2*time.Second)
	return c
}

func (c Config) validate() error {
	bad := func(hint, format string, args ...any) error {
		return &remote.Error{What: "openai: " + fmt.Sprintf(format, args...), Help: hint, Usage: true}
	}
	switch {
	case c.Model == "":
		return bad("name it: --base-model gpt-4.1-mini-2025-04-14", "no model to train")
	case !slices.Contains(Methods, c.Method):
		return bad("", "unknown method %q (known: %s)", c.Method, strings.Join(Methods, ", "))
	case c.BaseURL == "":
		return bad("name it: --fine-tuning-url http://tune.test/v1", "no service to train at")
	case !strings.HasPrefix(c.BaseURL, "http://") && !strings.HasPrefix(c.BaseURL, "https://"):
		return bad("write https://HOST/v1", "base URL %q", c.BaseURL)
	case secret.InURL(c.BaseURL) != nil:
		return bad("", "base URL: %v", secret.InURL(c.BaseURL))
	case len(c.Suffix) > 64:
		return bad("", "the suffix has %d characters; at most 64 are allowed", len(c.Suffix))
	case c.Validation < 0 || c.Validation >= 1:
		return bad("", "validation share %g: must be at least 0 and under 1", c.Validation)
	}
	return c.checkHyperparameters(bad)
}

// limits are the bounds of each hyperparameter: the smallest number, or 0 for
// any above it, and the largest.
var limits = map[string]struct {
	min, max float64
	of       string // "" for every method
}{
	"batch_size": {1, 256, ""}, "learning_rate_multiplier": {0, 1e6, ""}, "n_epochs": {1, 50, ""}, "beta": {0, 2, DPO},
	"l2_multiplier": {0, 1e6, DPO},
}

func (c Config) checkHyperparameters(bad func(hint, format string, args ...any) error) error {
	for name, v := range c.Hyperparameters {
		l, known := limits[name]
		if !known || l.of != "" && l.of != c.Method {
			return bad("", "%s has no hyperparameter %q", c.Method, name)
		}
		n, isNumber := backends.Number(v)
		switch {
		case !isNumber && v != "auto":
			return bad("", "%s %v: must be a number or auto", name, v)
		case isNumber && l.min == 0 && !(n > 0 && n <= l.max): // NaN is in no range
			return bad("", "%s %v: must be more than 0, and at most %g", name, v, l.max)
		case isNumber && !(n >= l.min && n <= l.max):
			return bad("", "%s %v: must be from %g to %g", name, v, l.min, l.max)
		}
	}
	return nil
}

type Trainer struct {
	cfg    Config
	http   *http.Client
	tables formats.Tables

	accepted validate.Accepted
}

// New checks the config. Nothing is contacted.
func New(cfg Config) (*Trainer, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Trainer{cfg: cfg, http: &http.Client{}}, nil
}

// Target is the service and what it trains by which method.
func (t *Trainer) Target() receipts.Target {
	return receipts.Target{Backend: "openai", Address: t.cfg.BaseURL, Model: t.cfg.Model + ":" + t.cfg.Method}
}

func (c Config) held(example string) bool {
	return formats.HeldOut(c.SplitSeed, c.Validation, example)
}

// file is one of the two files of a batch, as counted.
type file struct {
	rows  int
	bytes int64
}

// The reasons for which a batch is refused.
const (
	NoRow     = "no_row"       // a group that the method's lines cannot express
	TooFew    = "too_few_rows" // fewer than the service takes
	TooLarge  = "file_too_large"
	NoHeldOut = "no_validation" // no example was chosen for validation
)

// Preflight makes every line and checks for what the service would refuse.
func (t *Trainer) Preflight(_ context.Context, groups backends.Groups,
	report func(backends.Problem)) (backends.BatchStats, error) {
	var stats backends.BatchStats
	var train, held file
	imitated := trainset.Imitated{Choice: t.cfg.Choice}
	err := t.each(groups, func(rows []formats.Trajectory) {
		if stats.AddGroup(rows); t.cfg.Method == Supervised {
			imitated.Add(rows)
		}
	}, func(m made) error {
		stats.Sequences++
		if m.reason != "" {
			report(backends.Problem{GroupID: m.rows[0].GroupID, TrajectoryID: m.id, Reason: NoRow,
				Detail: "it gives no line: " + m.reason, Hint: hints[m.reason]})
			return nil
		}
		stats.Bytes += int64(len(m.data))
		to := &train
		if t.cfg.held(m.rows[0].ExampleID) {
			to = &held
		}
		to.rows, to.bytes = to.rows+1, to.bytes+int64(len(m.data))
		return nil
	})
	if err != nil || stats.Groups == 0 {
		return stats, err
	}
	if train.rows < t.cfg.MinRows {
		report(backends.Problem{Reason: TooFew,
			Detail: fmt.Sprintf("%d rows; at least %d are required", train.rows, t.cfg.MinRows),
			Hint:   "another service may take fewer: --min-rows"})
	}
	if t.cfg.Validation > 0 && held.rows == 0 {
		report(backends.Problem{Reason: NoHeldOut, Detail: "no example was chosen for validation",
			Hint: "raise --validation-share, or leave it out"})
	}
	if n := max(train.bytes, held.bytes); n > t.cfg.MaxFileBytes {
		report(backends.Problem{Reason: TooLarge,
			Detail: fmt.Sprintf("a file would have %d bytes; at most %d are taken", n, t.cfg.MaxFileBytes),
			Hint:   "take fewer groups with curate"})
	}
	stats.Checks = []string{NoRow, TooFew, TooLarge, NoHeldOut}
	stats.Total = train.bytes/4 + 1 // of JSON; the service counts by its own tokenizer
	if n, ok := backends.Number(t.cfg.Hyperparameters["n_epochs"]); ok {
		stats.Passes = int64(n)
	}
	stats.Notes = []string{fmt.Sprintf("%d rows to train on, %d held out; the service tokenizes the text anew",
		train.rows, held.rows)}
	if t.cfg.Method == DPO && t.tables.Pairs == nil {
		stats.Notes[0] += "; there are no " + schema.TablePairs + ", so each group's best is compared with its worst"
	}
	stats.Notes = append(stats.Notes, imitated.Note()...)
	return stats, nil
}

var hints = map[string]string{
	finetune.OpenAISame: "the two answers say the same: drop such groups with curate",
	"turns":             "only the last answer of a conversation can be compared; train by another backend, or supervised",
}

// Begin checks whether the service accepts the key.
func (t *Trainer) Begin(ctx context.Context, known *receipts.Policy) (backends.TrainerState, error) {
	if err := t.get(ctx, "/fine_tuning/jobs?limit=1", nil); err != nil {
		return backends.TrainerState{}, err
	}
	known = cmp.Or(known, &receipts.Policy{URL: t.cfg.BaseURL, Model: t.cfg.Model})
	return backends.TrainerState{Policy: known}, nil
}
