package customizer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/chat/trainset"
	"github.com/rollmill/rollmill/formats/foreign/finetune"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/internal/remote"
)

// The reasons for which a batch is refused.
const (
	NoRow     = "no_row"        // a group that the training type's lines cannot express
	TooLong   = "too_long"      // longer than the configuration's max_seq_length
	TooFew    = "too_few_rows"  // fewer than a batch of the trainer's
	NoHeldOut = "no_validation" // one example cannot be on both sides
	Mixed     = "mixed_tools"   // some rows have tools, and rows of a file must be alike
)

// Why a prompt is invalid, besides the reasons of formats/foreign/finetune.
const lastRole = "last_role" // it is empty, or does not end with the user

var hints = map[string]string{
	trainset.Same:  "the two answers say the same: drop such groups with curate",
	trainset.Tie:   "the best is no better than the worst: drop flat groups with curate",
	trainset.Turns: "only conversations of one answer can be compared: --training-type sft, or another backend",
	finetune.Tools: "a pair cannot have tools: --training-type sft, or another backend",
	finetune.Blank: "drop such rows with curate",
}

// line is a line of one of the files, or the reason why there is none.
type line struct {
	data   []byte
	prompt uint64   // digest of what was asked
	ids    []string // trajectories that it is made of
	tools  bool
	reason string
}

// lines calls f with the lines of a group.
func (t *Trainer) lines(walk *trainset.Preferences, rows []formats.Trajectory, f func(line) error) error {
	if t.cfg.TrainingType == SFT {
		return t.cfg.Each(rows, func(some []formats.Trajectory, reason string) error {
			if reason != "" {
				return nil
			}
			conversation, why := finetune.ConversationOf(some)
			if why = cmp.Or(why, t.accepted.BlocksAny(some, validate.ForSFT)); why != "" {
				return f(line{reason: why})
			}
			l := line{ids: []string{some[0].TrajectoryID}, tools: len(conversation.Tools) > 0}
			return l.of(conversation, asked(conversation.Messages), f)
		})
	}
	return walk.Of(rows, func(p trainset.Preference, why string) error {
		l := line{ids: []string{p.ChosenID, p.RejectedID}, reason: why}
		var pair finetune.CustomizerPreference
		if why == "" {
			pair, l.reason = finetune.CustomizerPreferenceOf(p)
		}
		if l.reason == "" {
			l.reason = t.accepted.BlocksAny(rows, validate.ForDPO, l.ids...)
		}
		if l.reason == "" && !pair.Asks() {
			l.reason = lastRole
		}
		if l.reason != "" {
			return f(l)
		}
		return l.of(pair, pair.Prompt, f)
	})
}

func (l line) of(row, prompt any, f func(line) error) error {
	text, err := json.Marshal(prompt)
	if err != nil {
		return err
	}
	h := fnv.New64a()
	h.Write(text)
	l.prompt = h.Sum64()
	if l.data, err = jsontext.AppendLine(nil, row); err != nil {
		return err
	}
	return f(l)
}

func (t *Trainer) Use(tables formats.Tables, a validate.Accepted) { t.tables, t.accepted = tables, a }

// asked returns the messages before the first answer.
func asked(messages []chat.Message) []chat.Message {
	for i, m := range messages {
		if m.Role == "assistant" {
			return messages[:i]
		}
	}
	return messages
}

// sides says which examples are held out: a share of them by their seeds, and
// of two or more at least one and never all.
type sides struct {
	cfg         Config
	low, high   int64 // seeds of the examples at both ends
	first, last string
	examples    bool // there are two or more
}

// sides reads the batch once.
func (c Config) sides(groups backends.Groups) (sides, error) {
	s := sides{cfg: c}
	for rows, err := range groups {
		if err != nil {
			return s, err
		}
		id := rows[0].ExampleID
		seed := formats.Seed(c.SplitSeed, "ends", id)
		if s.first == "" || seed < s.low {
			s.low, s.first = seed, id
		}
		if s.last == "" || seed > s.high {
			s.high, s.last = seed, id
		}
	}
	s.examples = s.first != s.last
	return s, nil
}

func (s sides) held(example string) bool {
	switch example {
	case s.first: // the first to be held out
		return s.examples
	case s.last:
		return false
	}
	return formats.HeldOut(s.cfg.SplitSeed, s.cfg.Validation, example)
}

// counted is one of the two files as the preflight counts it.
type counted struct {
	rows, tools int64
	prompts     map[uint64]bool // eight bytes a row
}

func (f *counted) add(l line) {
	f.rows++
	f.prompts[l.prompt] = true
	if l.tools {
		f.tools++
	}
}

// Preflight asks the service what can be trained, makes every line, and checks
// for what the service would refuse or, worse, accept.
func (t *Trainer) Preflight(ctx context.Context, groups backends.Groups,
	report func(backends.Problem)) (backends.BatchStats, error) {
	var stats backends.BatchStats
	imitated := trainset.Imitated{Choice: t.cfg.Choice}
	c, err := t.configuration(ctx)
	if err != nil {
		return stats, err
	}
	if err := t.datastore().Get(ctx, t.storeNamespace(), nil); err != nil && remote.Status(err) != http.StatusNotFound {
		return stats, err
	}
	split, err := t.cfg.sides(groups)
	if err != nil {
		return stats, err
	}
	files := map[bool]*counted{false: {prompts: map[uint64]bool{}}, true: {prompts: map[uint64]bool{}}}
	walk := trainset.NewPreferences(t.tables)
	defer walk.Close()
	for rows, err := range groups {
		if err != nil {
			return stats, err
		}
		if stats.AddGroup(rows); t.cfg.TrainingType == SFT {
			imitated.Add(rows)
		}
		long := map[string]bool{}
		err = t.lines(walk, rows, func(l line) error {
			stats.Sequences++
			if l.reason != "" {
				p := backends.Problem{GroupID: rows[0].GroupID, Reason: NoRow, Detail: "it gives no line: " + l.reason,
					Hint: hints[l.reason]}
				if len(l.ids) > 0 {
					p.TrajectoryID = l.ids[0]
				}
				report(p)
				return nil
			}
			files[split.held(rows[0].ExampleID)].add(l)
			stats.Bytes += int64(len(l.data))
			for _, id := range l.ids {
				long[id] = true
			}
			return nil
		})
		if err != nil {
			return stats, err
		}
		tooLong(c, rows, long, report)
	}
	if err := walk.End(); err != nil {
		return stats, err
	}
	if stats.Groups > 0 {
		t.whole(files[false], files[true], &stats, split, report)
	}
	stats.Notes = append(stats.Notes, imitated.Note()...)
	return stats, nil
}

// tooLong compares the limit with the engine's own count of each trajectory in a line.
func tooLong(c configuration, rows []formats.Trajectory, used map[string]bool, report func(backends.Problem)) {
	if c.MaxLength == nil || *c.MaxLength <= 0 {
		return
	}
	for i := range rows {
		t := &rows[i]
		longest := int64(0)
		for _, call := range t.Calls {
			if call.Target {
				longest = max(longest, int64(call.PromptTokens)+int64(call.CompletionTokens))
			}
		}
		if used[t.TrajectoryID] && longest > *c.MaxLength {
			report(backends.Problem{GroupID: t.GroupID, TrajectoryID: t.TrajectoryID, Reason: TooLong,
				Detail: fmt.Sprintf("%d tokens, and the configuration's max_seq_length is %d", longest, *c.MaxLength),
				Hint:   "drop long rows with curate, or take another configuration"})
		}
	}
}

// whole checks what depends on the whole batch.
func (t *Trainer) whole(train, held *counted, stats *backends.BatchStats, split sides, report func(backends.Problem)) {
	if !split.examples {
		report(backends.Problem{Reason: NoHeldOut,
			Detail: "all rows are of one example, and the service needs another to validate on", Hint: "take more examples"})
	}
	if size := t.cfg.whole("batch_size"); train.rows < size {
		report(backends.Problem{Reason: TooFew,
			Detail: fmt.Sprintf("%d rows to train on, and batch_size is %d", train.rows, size),
			Hint:   "lower batch_size, or take more groups"})
	}
	if n := train.tools + held.tools; n > 0 && n < train.rows+held.rows {
		report(backends.Problem{Reason: Mixed,
			Detail: fmt.Sprintf("%d of %d rows have tools, and rows of one file must be alike", n, train.rows+held.rows),
			Hint:   "submit them apart"})
	}
	stats.Notes = append(stats.Notes,
		fmt.Sprintf("%d rows to train on, %d held out; the service tokenizes the text anew%s", train.rows, held.rows,
			t.fallback()))
	shared := 0
	for p := range held.prompts {
		if train.prompts[p] {
			shared++
		}
	}
	if shared > 0 {
		stats.Notes = append(stats.Notes,
			fmt.Sprintf("%d prompts of examples held out are trained on too, by other examples with the same prompt: the "+
				"validation loss will be too low", shared))
	}
}

// fallback says what pairs are made from if the batch has none.
func (t *Trainer) fallback() string {
	if t.cfg.TrainingType != DPO || t.tables.Pairs != nil {
		return ""
	}
	return "; there are no " + schema.TablePairs + ", so each group's best is compared with its worst"
}

// WriteRows writes the files that are uploaded.
func (t *Trainer) WriteRows(ctx context.Context, s backends.Submission, groups backends.Groups, to backends.Place) error {
	return to.WriteFile(ctx, trainingFile, func(train io.Writer) error {
		return to.WriteFile(ctx, validationFile, func(held io.Writer) error {
			return t.write(train, held, s, groups, func(backends.JobEvent) {})
		})
	})
}

// write writes the lines of both files.
func (t *Trainer) write(train, held io.Writer, s backends.Submission, groups backends.Groups,
	event func(backends.JobEvent)) error {
	split, err := t.cfg.sides(groups)
	if err != nil {
		return err
	}
	walk := trainset.NewPreferences(t.tables)
	defer walk.Close()
	for rows, err := range s.Guarded(groups, event) {
		if err != nil {
			return err
		}
		w := train
		if split.held(rows[0].ExampleID) {
			w = held
		}
		err = t.lines(walk, rows, func(l line) error {
			_, err := w.Write(l.data)
			return err
		})
		if err != nil {
			return err
		}
	}
	return walk.End()
}
