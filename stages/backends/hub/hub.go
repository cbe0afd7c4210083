// Package hub publishes a batch as a dataset repository of the Hugging Face
// hub, or of a store with the same API: Parquet files, a card with which DuckDB
// and `datasets` read them, and a record of the submission, in one commit. It
// does not train; a trainer pins the commit that the receipt names.
//
//	README.md                                    the card; one that a person wrote is left alone
//	data/<table>/train-00000-of-00002.parquet    the batch, in a shape of Tables
//	data/<table>/validation-00000-of-....parquet the examples held out
//	.rollmill/<submission>.json                  what was submitted; never removed
//
// The record is how a submission whose sender died is found: it is committed
// together with the files. A batch replaces the previous one, which remains in
// the history, unless Config.Keep keeps them next to each other.
//
// The files are in the folder for temporary files (TMPDIR) until they are
// committed, because their digests are needed before their bytes; memory does
// not grow with the batch.
//
// Preferences are those of the batch's table _pairs, and single answers those
// of its _labels, as the record says; in a batch without such a table each
// group's best is compared with its worst, and answers are good or bad by their
// advantage.
//
// To add a table: a format of formats/foreign that has Hub.
package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/hfhub"
	"github.com/rollmill/rollmill/stages/internal/remote"
)

// Config says which repository, and what it contains.
type Config struct {
	Endpoint string `yaml:"endpoint" json:"endpoint"` // default https://huggingface.co
	Token    string `yaml:"-" json:"-"`

	EndpointVariable string `yaml:"-" json:"-"` // used in place of Endpoint

	Repo    string `yaml:"repo" json:"repo"`     // OWNER/NAME
	Branch  string `yaml:"branch" json:"branch"` // default main; it must exist
	Private bool   `yaml:"private" json:"private"`

	Tables []string `yaml:"tables" json:"tables"` // of Tables; default trajectories
	// of trl-sft: conversations of a group; default 1, below 0 all
	chat.Choice `yaml:",inline"`
	Keep        bool `yaml:"keep" json:"keep"` // keep earlier batches next to this one
	// share of the examples that is held out, chosen by SplitSeed
	Validation float64 `yaml:"validation" json:"validation"`
	SplitSeed  int64   `yaml:"split_seed" json:"split_seed"` //
	// of sequences: what counts the same in the loss; "": every weight is 1
	RowWeight    sequences.Per `yaml:"row_weight" json:"row_weight"`
	MaxFileBytes int64         `yaml:"max_file_bytes" json:"max_file_bytes"` // begins another file; default 500 MB
	// until a commit whose answer was lost, or whose sender died, is certainly visible; default 5s
	Settle time.Duration `yaml:"settle" json:"settle"`
}

// Trainer is a backends.Trainer.
type Trainer struct {
	cfg     Config
	formats []exporters.Format
	store   *hfhub.Client
	tables  formats.Tables

	accepted validate.Accepted
}

// New checks the config. Nothing is contacted.
func New(cfg Config) (*Trainer, error) {
	bad := func(hint, format string, args ...any) error {
		return &remote.Error{What: "hub: " + fmt.Sprintf(format, args...), Help: hint, Usage: true}
	}
	cfg.Branch = cmp.Or(cfg.Branch, hfhub.Main)
	cfg.MaxFileBytes = cmp.Or(cfg.MaxFileBytes, 500e6)
	cfg.Settle = cmp.Or(cfg.Settle, 5*time.Second)
	if len(cfg.Tables) == 0 {
		cfg.Tables = []string{Trajectories}
	}
	t := &Trainer{cfg: cfg, store: hfhub.New("hub", cfg.Endpoint, cfg.Token)}
	t.store.Help = "put a token that may write into HF_TOKEN, or name a file: --api-key-file"
	switch at := t.store.Endpoint; {
	case cfg.Repo == "":
		return nil, bad("name it: --repository OWNER/NAME", "no repository")
	case !strings.HasPrefix(at, "http://") && !strings.HasPrefix(at, "https://"):
		return nil, bad("write https://HOST", "endpoint %q", at)
	case secret.InURL(at) != nil:
		return nil, bad("put the token into HF_TOKEN, or name a file: --api-key-file", "endpoint: %v", secret.InURL(at))
	case cfg.Validation < 0 || cfg.Validation >= 1:
		return nil, bad("", "validation share %g: must be at least 0 and under 1", cfg.Validation)
	case cfg.MaxFileBytes < 0:
		return nil, bad("", "files of %d bytes", cfg.MaxFileBytes)
	}
	for _, name := range cfg.Tables {
		at := slices.IndexFunc(tables, func(k exporters.Format) bool { return k.Name == name })
		if at < 0 {
			return nil, bad("", "unknown table %q (known: %s)", name, strings.Join(Tables(), ", "))
		}
		t.formats = append(t.formats, tables[at])
	}
	if cfg.RowWeight != "" && !slices.ContainsFunc(t.formats, func(f exporters.Format) bool { return f.Loss != "" }) {
		return nil, bad("leave out --row-weight, or push "+strings.Join(weighted(), ", "), "%s: rows have no weights",
			strings.Join(cfg.Tables, ", "))
	}
	return t, hfhub.CheckID(cfg.Repo)
}

// weighted returns the flags of the tables that have weights.
func weighted() (out []string) {
	for _, f := range tables {
		if f.Loss != "" {
			out = append(out, "--tables "+f.Name)
		}
	}
	return out
}

// Target names the store, and as the model the repository with its tables.
func (t *Trainer) Target() receipts.Target {
	model := t.cfg.Repo + "@" + t.cfg.Branch + ":" + strings.Join(t.cfg.Tables, "+") + exporters.FormOf(t.formats)
	if t.cfg.Best != 0 && t.cfg.Best != 1 {
		model += fmt.Sprintf(" best %d", t.cfg.Best)
	}
	return receipts.Target{Backend: "hub", Address: t.store.Endpoint, Model: model}
}

// Use is part of backends.Description.
func (t *Trainer) Use(tables formats.Tables, a validate.Accepted) { t.tables, t.accepted = tables, a }

func (t *Trainer) madeOf(k exporters.Format) string {
	if table := k.MadeOf(t.tables); table != "" {
		return "rows of " + table
	}
	if k.Of == exporters.Rows {
		return string(k.Of)
	}
	return "groups"
}

// NoRow means that no group gives any row, so the repository would be empty.
const NoRow = "no_row"

// Preflight writes the batch without storing it, and checks whether the store
// accepts the token.
func (t *Trainer) Preflight(ctx context.Context, groups backends.Groups,
	report func(backends.Problem)) (backends.BatchStats, error) {
	var stats backends.BatchStats
	if err := t.store.CheckToken(ctx); err != nil {
		return stats, err
	}
	b := t.begin(counting)
	defer b.Close()
	for rows, err := range groups {
		if err != nil {
			return stats, err
		}
		stats.AddGroup(rows)
		stats.Sequences += int64(len(rows))
		if err := b.group(rows); err != nil {
			return stats, err
		}
	}
	if err := b.end(); err != nil || stats.Groups == 0 {
		return stats, err
	}
	for _, s := range b.splits {
		stats.Bytes += s.bytes
		if why := s.balance.OneClass(); why != "" && s.name == train {
			report(backends.Problem{Reason: NoRow, Detail: s.table.Name + ": " + why, Hint: "label with another --solved-threshold of group"})
		}
	}
	stats.Notes, stats.Files = b.notes(), b.sequences()
	if b.rows() == 0 {
		report(backends.Problem{Reason: NoRow, Detail: "no group gives a row of " + strings.Join(t.cfg.Tables, ", "),
			Hint: "push the table " + Trajectories})
	}
	return stats, nil
}

// Begin makes the repository, unless it exists.
func (t *Trainer) Begin(ctx context.Context, known *receipts.Policy) (backends.TrainerState, error) {
	if err := t.store.CheckToken(ctx); err != nil {
		return backends.TrainerState{}, err
	}
	if err := t.store.Create(ctx, t.cfg.Repo, t.cfg.Private); err != nil {
		return backends.TrainerState{}, err
	}
	return backends.TrainerState{Policy: known}, nil
}

// record is .rollmill/<submission>.json.
type record struct {
	Format  string         `json:"format"`
	Token   string         `json:"submission"`
	Run     string         `json:"run,omitempty"`
	Epoch   int            `json:"epoch"`
	Digest  string         `json:"curated_digest,omitempty"`
	Groups  int64          `json:"groups"`
	Files   []recordedFile `json:"files"`
	Skipped map[string]any `json:"skipped,omitempty"` // what gave no row of a table, by reason

	// by table: the batch's table that it is made of, where not its groups
	Of      map[string]string       `json:"of,omitempty"`
	Balance map[string]chat.Balance `json:"balance,omitempty"` // of single answers, by table and side

	// by table and side: the tokens that went in and came out
	Sequences map[string]receipts.Balance `json:"sequences,omitempty"`
}

type recordedFile struct {
	Path   string `json:"path"`
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

const recordFormat = "rollmill-hub/1"

func recordPath(token string) string { return ".rollmill/" + token + ".json" }

// Submit writes the files to disk, for their digests, and commits them. It may
// be repeated: an existing submission is not made again.
func (t *Trainer) Submit(ctx context.Context, s backends.Submission, groups backends.Groups,
	event func(backends.JobEvent)) (backends.Outcome, error) {
	unsent := backends.Clean("nothing was committed")
	b, err := t.beginWeighed(groups)
	if err != nil {
		return unsent, err
	}
	defer b.discard()
	sent, err := b.fill(s.Guarded(groups, event))
	if err != nil {
		return unsent, err
	}
	change, rec, err := t.change(ctx, s, b, sent)
	if err != nil {
		return unsent, err
	}
	switch there, err := t.look(ctx, s); {
	case err != nil:
		return unsent, err
	case there.State == receipts.JobCompleted: // another attempt's commit was made
		return there, nil
	}
	commit, err := t.store.Push(ctx, change)
	if err != nil {
		return t.lost(ctx, s, err)
	}
	if commit == "" { // an answer was lost, and the store does not report the head
		return t.Resolve(ctx, s)
	}
	return t.outcome(rec, commit, s), nil
}

// lost checks whether a commit that failed was made: a refusal may be a
// proxy's.
func (t *Trainer) lost(ctx context.Context, s backends.Submission, broken error) (backends.Outcome, error) {
	unknown := backends.Outcome{State: backends.JobUnknown, Message: broken.Error()}
	if ctx.Err() != nil && hfhub.Open(broken) {
		return unknown, broken
	}
	out, err := t.look(context.WithoutCancel(ctx), s) // Push has waited
	switch {
	case err == nil && out.State == receipts.JobCompleted:
		return out, nil
	case hfhub.Open(broken):
		return unknown, broken
	}
	return backends.Clean("nothing was committed"), broken
}

// Resolve looks for the submission's record, until Config.Settle has passed:
// the store may be processing a commit whose sender was killed.
func (t *Trainer) Resolve(ctx context.Context, s backends.Submission) (backends.Outcome, error) {
	for began := time.Now(); ; {
		settled := time.Since(began) >= t.cfg.Settle
		out, err := t.look(ctx, s)
		if err != nil || !out.Clean || settled {
			return out, err
		}
		select {
		case <-ctx.Done():
			return backends.Outcome{State: backends.JobUnknown}, context.Cause(ctx)
		case <-time.After(t.cfg.Settle / 10):
		}
	}
}

func (t *Trainer) look(ctx context.Context, s backends.Submission) (backends.Outcome, error) {
	data, err := t.store.Read(ctx, t.cfg.Repo, t.cfg.Branch, recordPath(s.Token))
	switch remote.Status(err) {
	case http.StatusUnauthorized: // also the answer for a missing repository
		if err := t.store.CheckToken(ctx); err != nil {
			return backends.Outcome{State: backends.JobUnknown}, err
		}
		fallthrough
	case http.StatusNotFound:
		return backends.Clean("the repository does not hold this submission"), nil
	}
	if err != nil {
		return backends.Outcome{State: backends.JobUnknown}, err
	}
	var rec record
	if err := json.Unmarshal(data, &rec); err != nil || rec.Format != recordFormat {
		return backends.Outcome{State: backends.JobUnknown,
			Message: fmt.Sprintf("%s in %q is not a record of rollmill", recordPath(s.Token), t.cfg.Repo)}, nil
	}
	commit, err := t.store.LastCommit(ctx, t.cfg.Repo, t.cfg.Branch, recordPath(s.Token))
	if err != nil {
		return backends.Outcome{State: backends.JobUnknown}, err
	}
	return t.outcome(&rec, commit, s), nil
}

func (t *Trainer) outcome(rec *record, commit string, s backends.Submission) backends.Outcome {
	out := backends.Outcome{State: receipts.JobCompleted, Job: commit, Policy: s.Before.Policy, Metrics: map[string]float64{}}
	rev := cmp.Or(commit, t.cfg.Branch)
	for _, f := range rec.Files {
		out.Files = append(out.Files, fmt.Sprintf("hf://datasets/%s@%s/%s", t.cfg.Repo, rev, f.Path))
		out.Metrics[f.Path] = float64(f.Rows)
	}
	out.Message = fmt.Sprintf("commit %s of %s holds it", rev, t.cfg.Repo)
	return out
}
