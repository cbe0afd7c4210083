package convert_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/redaction"
	"github.com/rollmill/rollmill/pipelines/convert"
	"github.com/rollmill/rollmill/storage/fault"
)

// said returns the line of a call, so many minutes after the beginning.
func said(id string, minute int64, session string, prompt ...string) string {
	b, _ := json.Marshal(logged{ID: id, At: minute * 60e6, Session: session, Prompt: prompt, Answer: "answer " + id})
	return string(b) + "\n"
}

// night imports what is new in one object, and fails with an error that says so.
func oneNight(t *testing.T, root, text, fails string, change func(*convert.ImportOptions)) convert.ImportReport {
	t.Helper()
	o := nightly(root, []convert.File{logFile("a.jsonl", text)})
	if change != nil {
		change(&o)
	}
	r, err := convert.Import(t.Context(), o)
	if (err == nil) != (fails == "") || err != nil && !strings.Contains(err.Error(), fails) {
		t.Fatalf("%v (%s), not %q", err, fault.HintOf(err), fails)
	}
	return r
}

// Of a session that was imported, and of a conversation whose answer was, what comes later is late; what
// begins like it and has another answer is not.
func TestLateCalls(t *testing.T) {
	begin := said("c1", 1, "s", "hi") + said("x", 500, "x", "x")
	for _, c := range []struct{ by, more, want string }{
		{"", said("c2", 2, "s", "hi", "answer c1", "go on"), "late_call"},
		{"", said("c2", 2, "s", "hi"), ""},
		{"", said("c2", 2, "t", "hi", "answer c9", "go on"), ""},
		{"session", said("c2", 2, "s", "hello"), "late_call"},
		{"session", said("c2", 2, "t", "hi", "answer c1", "go on"), ""},
	} {
		root := t.TempDir()
		by := func(o *convert.ImportOptions) { o.MergeBy = c.by }
		oneNight(t, root, begin, "", by)
		r := oneNight(t, root, begin+c.more, "", by)
		list := rows[formats.Trajectory](t, r.URI, "")
		if len(list) != 1 || list[0].FailureClass != c.want || list[0].Epoch != 1 || (r.New.Late > 0) != (c.want != "") {
			t.Errorf("by %q, %s: %d rows, class %q, %+v", c.by, c.more, len(list), list[0].FailureClass, r.New)
		}
		if late := c.want != ""; late != slices.Equal(r.New.LateIn, []string{"a.jsonl"}) || r.Facts["late_calls"] != float64(r.New.Late) {
			t.Errorf("late calls are in %v, %v", r.New.LateIn, r.Facts)
		}
	}
}

// A try without an answer that a night imported does not hide the answer of a later try.
func TestRetryInALaterNight(t *testing.T) {
	failed, _ := json.Marshal(logged{ID: "c1", At: 60e6, Prompt: []string{"hi"}})
	root, text := t.TempDir(), string(failed)+"\n"+said("x", 500, "x", "x")
	oneNight(t, root, text, "", nil)
	text += said("c1", 499, "", "hi") + said("y", 900, "x", "y")
	if r := oneNight(t, root, text, "", nil); r.New.Late != 0 || r.New.Known != 2 {
		t.Errorf("%+v", r.New)
	}
	if r := oneNight(t, root, text+string(failed)+"\n", "", nil); r.URI != "" || r.New.Known != 5 { // it is logged again
		t.Errorf("%+v at %q", r.New, r.URI)
	}
	count, _ := found(t, root)
	each(t, "retry", map[string]bool{"c1": true, "c1 failed": true, "x": true, "y": true}, count)
}

func TestSettle(t *testing.T) {
	text := said("c1", 1, "s", "hi") + said("c2", 60, "t", "ho") + said("c3", 61, "u", "he")
	for _, c := range []struct {
		settle time.Duration
		flush  bool
		waits  int64
	}{{time.Hour, false, 2}, {time.Minute, false, 1}, {2 * time.Hour, false, 3}, {0, false, 0}, {time.Hour, true, 0}} {
		r := oneNight(t, t.TempDir(), text, "", func(o *convert.ImportOptions) { o.Settle, o.Flush = c.settle, c.flush })
		if r.New.Waiting != c.waits || r.Rows != 3-c.waits {
			t.Errorf("%v: %+v, %d rows", c, r.New, r.Rows)
		}
	}
	var log strings.Builder
	ahead := text + said("c4", 300*365*24*60, "v", "hu")
	r := oneNight(t, t.TempDir(), ahead, "", func(o *convert.ImportOptions) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	if r.New.Future != 1 || r.New.Waiting != 1 || !strings.Contains(log.String(), "dated in the future") ||
		!strings.Contains(log.String(), "future_calls=1 imported=3") || !strings.Contains(r.New.String(), "dated in the future: 1 call") {
		t.Errorf("a call in the future: %+v; %s", r.New, &log)
	}
	timeless := regexp.MustCompile(`"At":\d+`).ReplaceAllString(text, `"At":0`)
	oneNight(t, t.TempDir(), timeless, "a call has no time", nil)
	oneNight(t, t.TempDir(), timeless, "", func(o *convert.ImportOptions) { o.Flush = true })
	oneNight(t, t.TempDir(), strings.ReplaceAll(timeless, `"ID":"c1"`, `"ID":""`), "a call has no time", func(o *convert.ImportOptions) { o.Flush = true })
}

// Options that decide rows are those of the nights before; --settle, --flush and --lossy may change.
func TestOtherOptionsThanTheNightsBefore(t *testing.T) {
	text := said("c1", 1, "s", "hi") + said("c2", 500, "t", "ho")
	rules, err := redaction.Load("rules.yaml", []byte("patterns: [{name: x, regexp: hi}]"))
	if err != nil {
		t.Fatal(err)
	}
	for fails, change := range map[string]func(*convert.ImportOptions){
		`merge-by was not there, is "session"`: func(o *convert.ImportOptions) { o.MergeBy = "session" },
		`group-by was not there, is "prompt"`:  func(o *convert.ImportOptions) { o.GroupBy = "prompt" },
		"redact was":                           func(o *convert.ImportOptions) { o.Redact = rules },
		`from was "log", is "other"`:           func(o *convert.ImportOptions) { o.Format.Name = "other" },
		"map": func(o *convert.ImportOptions) {
			o.Fields = map[string]string{"question": "q"}
			o.Format.Fields = format.Fields
		},
	} {
		root := t.TempDir()
		oneNight(t, root, text, "", nil)
		oneNight(t, root, text, fails, change)
		oneNight(t, root, text, "", func(o *convert.ImportOptions) { o.Lossy, o.Flush, o.Settle = true, true, time.Minute })
	}
}

// A watermark that was taken away, or is that of two nights ago, is never one of which all is new.
func TestWatermarkTakenAway(t *testing.T) {
	root, text := t.TempDir(), ""
	folder := filepath.Join(root, ".rollmill/import")
	old := filepath.Join(t.TempDir(), "old")
	for i := range 3 {
		text += said(fmt.Sprint("c", i), int64(1+500*i), fmt.Sprint(i), fmt.Sprint(i))
		if r := oneNight(t, root, text, "", nil); i > 0 && r.URI == "" {
			t.Fatal("no dataset")
		}
		if i == 0 {
			if err := os.CopyFS(old, os.DirFS(folder)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	oneNight(t, root, text, "the watermark is gone, and epoch 1 has the dataset of a later night", nil)
	if err := os.CopyFS(folder, os.DirFS(old)); err != nil {
		t.Fatal(err)
	}
	oneNight(t, root, text, "the watermark ends with night 1, and epoch 1 has the dataset of a later night", nil)
	other := t.TempDir()
	if err := os.CopyFS(filepath.Join(other, ".rollmill/import"), os.DirFS(old)); err != nil {
		t.Fatal(err)
	}
	oneNight(t, other, text, "it is the watermark of the run", nil)
}

// What waits in the run is redacted as rows are.
func TestWhatWaitsIsRedacted(t *testing.T) {
	const key = "sk-abcdefghijklmnop1234567890"
	root := t.TempDir()
	secret := func(o *convert.ImportOptions) { o.Redact = redaction.Keys() }
	if r := oneNight(t, root, said("c1", 1, "s", "my key is "+key), "", secret); r.New.Waiting != 1 || r.Redacted.Total() == 0 {
		t.Fatalf("%+v, %v", r.New, r.Redacted)
	}
	r := oneNight(t, root, said("c1", 1, "s", "my key is "+key)+said("c2", 500, "t", "ho"), "", secret)
	if list := rows[formats.Trajectory](t, r.URI, ""); len(list) != 1 || strings.Contains(list[0].Messages[0].Content, key) ||
		!strings.HasPrefix(list[0].Messages[0].Content, "my key is ") {
		t.Errorf("%+v", list)
	}
	if err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), key) {
			t.Errorf("%s has the key", path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// A line that is still written is left to a later night, wherever it is cut.
func TestLineThatIsStillWritten(t *testing.T) {
	first, second := said("c1", 1, "s", "hi"), said("c2", 500, "t", "a b")
	root := t.TempDir()
	for cut := range len(second) - 1 {
		r := oneNight(t, root, first+second[:cut], "", nil)
		if (cut > 0) != slices.Equal(r.New.Unfinished, []string{"a.jsonl"}) {
			t.Errorf("cut at %d: %+v", cut, r.New)
		}
	}
	r := oneNight(t, root, first+strings.TrimSuffix(second, "\n"), "", nil) // it is whole, whatever follows
	if r.New.Unfinished != nil || r.New.Waiting != 1 || r.Rows != 1 {
		t.Errorf("%+v, %d rows", r.New, r.Rows)
	}
}
