// Package command trains by any program, in any language: it is started once
// per Request, reads the request as one line of JSON on its standard input, and
// answers with lines of JSON on its standard output.
//
// A request has those of these keys that have a value:
//
//	{"protocol":"rollmill-trainer/1","request":"submit","token":"4f0c...","model":"policy",
//	 "curated":"runs/demo/epoch-0/curate","digest":"rows-...","run":"demo","epoch":0,
//	 "load":{"groups":3,"trajectories":12,...},"before":{"step":4,"policy":{...}},"settings":{"lr":"1e-5"}}
//
// With forms, "forms" has for each the file that was made of the batch, beside the
// receipt: {"sequences":{"uri":"runs/demo/epoch-0/submit/sequences.parquet","rows":12,
// "bytes":9000,"sha256":"..."}}. They are the kinds of file of backend file, and are
// whole when submit is asked.
//
//	begin    Prepare; train nothing. Answer with step and policy, if there are any.
//	submit   Train on the dataset at curated, plain Parquet: *.parquet under that URI.
//	         Either train and end, or name a job, leave a process in a session of
//	         its own and end.
//	         If the estimator leaves the whitening of advantages over tokens to the
//	         trainer, _dataset.json there has it, at state.advantages.whiten.
//	status   Report the state of the job named by job.
//	cancel   Cancel that job.
//	resolve  Report the state of the submission named by token. Its sender is dead.
//
// Each line of the answer is an Answer, with any of its keys. Its state is pending, running,
// completed, failed, cancelled, untrained or unknown.
//
// A line that is no JSON, such as a print while the program loads, is passed over; the
// message at the end names the first one. NaN and infinities, which JSON does not have,
// are read as null, and counted in the message. Logs belong on standard error.
//
// The environment is this process's, without the variables whose names look like
// secrets, unless PassEnv names them. When the request is cancelled, the
// program and its process group get SIGTERM and two seconds later SIGKILL; on
// Linux the program also gets SIGTERM when this process dies.
//
// A process that the program leaves in a session of its own continues if the answer names a job
// or a policy, which it may train or serve; otherwise it is killed.
//
// A program answers an unknown request with nothing and exit code 0. A submit
// that ends without a state, or with another exit code, counts as unknown
// unless its state says otherwise, and is resolved.
//
// The token is the same for every attempt at a batch: a program that stores it where it creates
// the job, by a call that fails if it already exists, never trains a batch twice, and can answer
// resolve. testdata/consumers/command has the necessary code in Python (jobs.py), and a plain
// PyTorch loop with it (trainer.py). rollmill.art of the Python package calls OpenPipe ART in
// process, for the versions whose server has no training. pipelines/torch has a trainer to copy, which reads
// sequences, and a run in which a small model learns.
package command

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat/trainset"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/file"
	"github.com/rollmill/rollmill/stages/internal/remote"
)

// Config says what to run.
type Config struct {
	Words    []string          `yaml:"command" json:"command"` // the program and its arguments
	Model    string            `yaml:"model" json:"model"`     // what it trains; default "policy"
	Target   string            `yaml:"target" json:"target"`   // its name in the ledger; default: the words
	Settings map[string]string `yaml:"settings" json:"settings"`
	// each submission makes a new model; otherwise all advance one
	NewModel bool     `yaml:"new_model" json:"new_model"`
	PassEnv  []string `yaml:"-" json:"-"` // environment variables for the program although they are named like secrets

	Forms           []string         `yaml:"forms" json:"forms"` // of file.Kinds: give the program these files of the batch
	trainset.Choice `yaml:",inline"` // of forms of best members
	// of forms of sequences: what counts the same in the loss; "": every weight is 1
	RowWeight sequences.Per `yaml:"row_weight" json:"row_weight"`
}

type Trainer struct {
	cfg   Config
	files *file.Trainer // of Config.Forms; nil without any
}

// New checks the config. Nothing is started. place is where files of Config.Forms
// go; without forms it may be the zero Place.
func New(cfg Config, place backends.Place) (*Trainer, error) {
	if len(cfg.Words) == 0 {
		return nil, &Error{What: "command: no program", Help: "name it and its arguments: --trainer 'python trainer.py'",
			Usage: true}
	}
	cfg.Model = cmp.Or(cfg.Model, "policy")
	files, err := formed(&cfg, place)
	return &Trainer{cfg: cfg, files: files}, err
}

// Error is the error of a run of the program.
type Error = remote.Error

// Target names the program, unless the config gives it a name of its own.
func (t *Trainer) Target() receipts.Target {
	address := cmp.Or(t.cfg.Target, strings.Join(t.cfg.Words, " "))
	return receipts.Target{Backend: "command", Address: address, Model: t.cfg.Model}
}

// Preflight counts the batch, checks that its forms can be written, and looks for
// the program. The program itself checks what it can train on. Without forms, bytes
// are those of the messages' text.
func (t *Trainer) Preflight(ctx context.Context, groups backends.Groups,
	report func(backends.Problem)) (stats backends.BatchStats, err error) {
	if _, err := exec.LookPath(t.cfg.Words[0]); err != nil {
		return stats, &Error{What: fmt.Sprintf("command: the program %q", t.cfg.Words[0]), Err: err, Usage: true,
			Help: "check that it is installed, and its path"}
	}
	if t.files != nil {
		return t.files.Preflight(ctx, groups, report)
	}
	for rows, err := range groups {
		if err != nil {
			return stats, err
		}
		stats.AddGroup(rows)
		stats.Sequences += int64(len(rows))
		for i := range rows {
			for m := range rows[i].Messages {
				stats.Bytes += int64(len(rows[i].Messages[m].Content))
			}
		}
	}
	return stats, nil
}

// use gives the tables to the forms; the program reads them itself.
func (t *Trainer) use(tables formats.Tables, _ validate.Accepted) {
	if t.files != nil {
		t.files.Use(tables, nil)
	}
}

// Protocol names what trainers are asked and answer, and its version: with the same one, no key
// changes its meaning.
const Protocol = "rollmill-trainer/1"

// Request is the program's input.
type Request struct {
	Protocol string                 `json:"protocol"`
	Request  string                 `json:"request" jsonschema:"what to do; answer an unknown one with nothing and exit code 0"`
	Token    string                 `json:"token,omitempty" jsonschema:"names the batch: the same for every attempt at it"`
	Job      string                 `json:"job,omitempty" jsonschema:"the job that status and cancel are about, as the program named it"`
	Model    string                 `json:"model"`
	Curated  string                 `json:"curated,omitempty" jsonschema:"URI of the dataset to train on"`
	Digest   string                 `json:"digest,omitempty" jsonschema:"of the dataset's rows"`
	Run      string                 `json:"run,omitempty"`
	Epoch    int                    `json:"epoch"`
	Stats    *backends.BatchStats   `json:"load,omitempty" jsonschema:"counts of the batch"`
	Before   *backends.TrainerState `json:"before,omitempty" jsonschema:"the trainer's state before the batch, as begin reported it"`
	Settings map[string]string      `json:"settings,omitempty" jsonschema:"those of --settings"`
	Echo     bool                   `json:"echo,omitempty" jsonschema:"write echo.parquet or echo.jsonl too, and name it in files"`
	Forms    map[string]form        `json:"forms,omitempty" jsonschema:"files of the batch, by kind, as --form asks"`
}

func (t *Trainer) request(what string) Request {
	return Request{Protocol: Protocol, Request: what, Model: t.cfg.Model, Settings: t.cfg.Settings}
}

func (t *Trainer) about(s backends.Submission, what string) Request {
	r := t.request(what)
	r.Echo = s.Echo
	r.Token, r.Run, r.Epoch, r.Before, r.Curated, r.Digest = s.Token, s.Run, s.Epoch, &s.Before, s.Curated, s.Digest
	return r
}

func (t *Trainer) Begin(ctx context.Context, known *receipts.Policy) (backends.TrainerState, error) {
	r := t.request("begin")
	r.Before = &backends.TrainerState{Policy: known}
	a, err := t.ask(ctx, r, nil)
	if err != nil {
		return backends.TrainerState{}, err
	}
	if a.State == receipts.JobFailed || a.State == backends.JobUnknown {
		return backends.TrainerState{}, t.says("begin", a)
	}
	return backends.TrainerState{Step: a.Step, Policy: cmp.Or(a.Policy, known)}, nil
}

// says returns the error of an answer, in the program's words.
func (t *Trainer) says(request string, a Answer) error {
	return &Error{What: strings.TrimSuffix(fmt.Sprintf("command: %q, asked to %q, answered with the state %q: %s",
		t.cfg.Words[0], request, a.State, a.Message), ": ")}
}

// Submit reads the whole batch once, to write its forms or to check that the program
// can read it, and then sends the request.
func (t *Trainer) Submit(ctx context.Context, s backends.Submission, groups backends.Groups,
	event func(backends.JobEvent)) (backends.Outcome, error) {
	stats, forms, err := t.ready(ctx, s, groups)
	if err == nil {
		err = s.Fence()
	}
	if err != nil {
		return backends.Clean("the request was not sent to the program"), err
	}
	r := t.about(s, "submit")
	r.Stats, r.Forms = &stats, forms
	a, err := t.ask(ctx, r, event)
	out := a.outcome(s.Before)
	var misused *Error
	if errors.As(err, &misused) && misused.Usage { // it did not start
		return backends.Clean(err.Error()), err
	}
	if err == nil || a.State != "" {
		event(backends.JobEvent{Sent: stats.Groups})
	}
	if err != nil && out.State != receipts.JobFailed {
		// Its output before it broke off is not the end.
		out.State, out.Clean = backends.JobUnknown, false
	}
	switch {
	case err != nil:
	case out.State == receipts.JobFailed && out.Clean:
		err = &Error{What: "command: " + out.Message}
	case a.State == "":
		err = &Error{What: fmt.Sprintf("command: %q ended without a state%s", t.cfg.Words[0], a.printed())}
	case out.State == backends.JobUnknown:
		err = t.says("submit", a)
	}
	return out, err
}

func (t *Trainer) Resolve(ctx context.Context, s backends.Submission) (backends.Outcome, error) {
	return t.outcome(ctx, t.about(s, "resolve"), s.Before)
}

func (t *Trainer) Status(ctx context.Context, job string) (backends.Outcome, error) {
	r := t.request("status")
	r.Job = job
	return t.outcome(ctx, r, backends.TrainerState{})
}

func (t *Trainer) Cancel(ctx context.Context, job string) (backends.Outcome, error) {
	r := t.request("cancel")
	r.Job = job
	out, err := t.outcome(ctx, r, backends.TrainerState{})
	if err == nil && out.State == backends.JobUnknown {
		err = &Error{What: strings.TrimSuffix(fmt.Sprintf("command: %q did not report the state of the job %q: %s",
			t.cfg.Words[0], job, out.Message), ": "), Help: "it may not support cancel; stop the trainer itself"}
	}
	return out, err
}

func (t *Trainer) outcome(ctx context.Context, r Request, before backends.TrainerState) (backends.Outcome, error) {
	a, err := t.ask(ctx, r, nil)
	if err != nil {
		return backends.Outcome{State: backends.JobUnknown}, err
	}
	return a.outcome(before), nil
}

// Answer is a line of the program's answer, or all of them, joined.
type Answer struct {
	Job     string             `json:"job,omitempty" jsonschema:"the reference of the job; write it as soon as there is one"`
	Metrics json.RawMessage    `json:"metrics,omitempty" jsonschema:"about one line for each gradient step"`
	Note    string             `json:"note,omitempty" jsonschema:"for people, while it runs"`
	State   string             `json:"state,omitempty" jsonschema:"the last one counts"`
	Clean   bool               `json:"clean,omitempty" jsonschema:"with state failed: certainly nothing was trained, and the batch may be sent again"`
	Step    *int64             `json:"step,omitempty" jsonschema:"how many times the policy has been trained"`
	Policy  *receipts.Policy   `json:"policy,omitempty" jsonschema:"the policy from now on"`
	Files   []string           `json:"files,omitempty" jsonschema:"files that were written"`
	Message string             `json:"message,omitempty" jsonschema:"for people, about the end"`
	steps   []json.RawMessage  // every metrics
	kept    int                // bytes of steps
	means   map[string]float64 // of each metric
	counts  map[string]float64
	lost    map[string]int64 // fields whose value was NaN or infinite, by name
	strays  int              // lines that are no answer
	first   string           // of them
	bad     error            // why the first of them that begins with "{" is none
}

func (a *Answer) stray(text []byte, bad error) {
	if a.strays++; a.strays == 1 {
		a.first = string(text)
	}
	a.bad = cmp.Or(a.bad, bad)
	if bad != nil && bytes.Contains(text, []byte(`"state"`)) {
		a.State, a.Clean = "", false // unknown, unless a later line has one
	}
}

// printed says what the program printed beside its answer, after a semicolon.
func (a *Answer) printed() string {
	var said string
	if a.strays > 0 {
		said = fmt.Sprintf("; it printed %.200q (lines that are no answer: %d)", a.first, a.strays)
	}
	if a.bad != nil {
		said += "; " + a.bad.Error()
	}
	for _, name := range slices.Sorted(maps.Keys(a.lost)) {
		said += fmt.Sprintf("; %s was NaN or infinite in %s", name, plural.Of(a.lost[name], "line"))
	}
	return said
}

func (a *Answer) add(line Answer) {
	a.Job = cmp.Or(line.Job, a.Job)
	if line.State != "" {
		a.State, a.Clean = line.State, line.Clean
	}
	a.Step = cmp.Or(line.Step, a.Step)
	a.Policy = cmp.Or(line.Policy, a.Policy)
	a.Message = cmp.Or(line.Message, a.Message)
	a.Files = append(a.Files, line.Files...)
	if line.Metrics == nil {
		return
	}
	if n := len(line.Metrics); len(a.steps) < maxSteps && a.kept+n <= maxKept {
		a.steps, a.kept = append(a.steps, line.Metrics), a.kept+n
	}
	var numbers map[string]any
	if json.Unmarshal(line.Metrics, &numbers) != nil {
		return
	}
	for name, v := range numbers {
		n, ok := v.(float64)
		if !ok || a.counts[name] == 0 && len(a.counts) >= maxMetrics {
			continue
		}
		if a.means == nil {
			a.means, a.counts = map[string]float64{}, map[string]float64{}
		}
		a.counts[name]++
		a.means[name] += n/a.counts[name] - a.means[name]/a.counts[name] // a sum could overflow
	}
}

// Limits of the stored metrics of an answer; the means are over all lines.
const (
	maxSteps   = 10000   // lines
	maxKept    = 8 << 20 // bytes of lines
	maxMetrics = 1000    // names
)

// outcome converts the answer. An unknown state counts as running: waiting ends
// by the time limits.
func (a *Answer) outcome(before backends.TrainerState) backends.Outcome {
	out := backends.Outcome{State: a.State, Clean: a.Clean && a.State == receipts.JobFailed, Job: a.Job, StepAfter: a.Step,
		Policy: a.Policy, MetricSteps: a.steps, Files: a.Files, Message: a.Message}
	out.Metrics = a.means
	switch a.State {
	case "":
		out.State = backends.JobUnknown
	case "canceled":
		out.State = receipts.JobCancelled
	case receipts.JobPending, receipts.JobRunning, receipts.JobCompleted, receipts.JobFailed, receipts.JobCancelled,
		receipts.JobUntrained, backends.JobUnknown:
	default:
		out.UnknownState = true
		out.State, out.Message = receipts.JobRunning, strings.TrimSuffix(fmt.Sprintf("the program reported %q, which is not "+
			"a known state: %s", a.State, a.Message), ": ")
	}
	if out.State != receipts.JobPending && out.State != receipts.JobRunning { // other prints are no progress of a job
		out.Message = strings.TrimPrefix(out.Message+a.printed(), "; ")
	}
	if out.Policy == nil && out.StepAfter != nil && before.Policy != nil && out.State == receipts.JobCompleted {
		p := *before.Policy
		p.Version = *out.StepAfter
		out.Policy = &p
	}
	return out
}
