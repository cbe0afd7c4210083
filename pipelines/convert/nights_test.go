package convert_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/runroot"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/pipelines/convert"
	"github.com/rollmill/rollmill/pipelines/convert/calls"
	"github.com/rollmill/rollmill/pipelines/convert/watermark"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
	"github.com/rollmill/rollmill/storage/s3test"
)

// logged is a line of the log of the tests. Answer "" is a failed call.
type logged struct {
	ID      string
	At      int64 // microseconds
	Session string
	Prompt  []string // of user and assistant in turn
	Answer  string
}

var logFormat = importers.Format{Name: "log", Extensions: []string{".jsonl"}, Records: importers.Rows}.ParsedBy(
	func(r *importers.Record) ([]importers.Item, error) {
		var l logged
		if err := json.Unmarshal(r.Data, &l); err != nil {
			return nil, err
		}
		x := importers.Item{Row: formats.Trajectory{TrajectoryID: l.ID, StartedAt: l.At, Metadata: fmt.Sprintf(`{"session":%q}`, l.Session),
			Calls: []formats.Call{{Model: "m", Sampling: "{}", Tools: -1, Target: true}}}}
		if t := &x.Row; l.At > 0 {
			t.FinishedAt = l.At + 1e6
		}
		for i, text := range l.Prompt {
			x.Row.Messages = append(x.Row.Messages, formats.Message{Role: []string{"user", "assistant"}[i%2], Content: text, Call: -1, Parent: int32(i) - 1})
		}
		if n := len(l.Prompt); l.Answer == "" {
			x.Row.Calls[0].Error = "lost " + l.ID
			importers.Fail(&x.Row, outcomes.FailEngine, "lost "+l.ID)
		} else {
			x.Row.Messages = append(x.Row.Messages, formats.Message{Role: "assistant", Content: l.Answer, Sampled: true, Parent: int32(n) - 1, FinishReason: "stop"})
		}
		return []importers.Item{x}, nil
	})

// entry is a line that becomes visible in an object.
type entry struct {
	seen   time.Time
	object string
	line   string
	logged
}

const simulatedNights = 30

// writeLog writes a log of thirty days: conversations of one to six turns, some across midnight, some with a long
// pause; objects by hour, that grow; lines that come late, twice in one object, and in two; tries that failed.
func writeLog(r *rand.Rand, perDay int) (all []entry) {
	day := func(n int) time.Time { return time.Date(2026, 1, 1+n, 3, 0, 0, 0, time.UTC) }
	n := 0
	write := func(at time.Time, l logged) {
		l.At = at.UnixMicro()
		line, _ := json.Marshal(l)
		delay := time.Duration(r.Int64N(int64(5 * time.Minute)))
		if p := r.IntN(100); p < 2 {
			delay = time.Duration(r.Int64N(int64(40 * time.Hour)))
		} else if p < 10 {
			delay = time.Duration(r.Int64N(int64(2 * time.Hour)))
		}
		e := entry{at.Add(delay), at.Format("logs/2006-01-02/15.jsonl"), string(line) + "\n", l}
		all = append(all, e)
		if r.IntN(30) == 0 {
			all = append(all, e)
		}
		if r.IntN(30) == 0 {
			e.object, e.seen = at.Format("logs/2006-01-02/second-15.jsonl"), e.seen.Add(time.Hour)
			all = append(all, e)
		}
	}
	for d := range simulatedNights - 2 {
		for range perDay {
			at := day(d).Add(time.Duration(r.Int64N(int64(24 * time.Hour))))
			session := fmt.Sprint("s", n)
			prompt := []string{fmt.Sprint("question ", r.IntN(20))}
			for turn := range 1 + r.IntN(6) {
				n++
				l := logged{ID: fmt.Sprint("c", n), Session: session, Prompt: slices.Clone(prompt), Answer: fmt.Sprint("answer c", n)}
				if r.IntN(20) == 0 {
					failed := l
					failed.Answer = ""
					write(at, failed)
					at = at.Add(5 * time.Second)
					if r.IntN(4) == 0 {
						break // it gives up
					}
				}
				write(at, l)
				prompt = append(prompt, l.Answer, fmt.Sprint("turn ", turn))
				if at = at.Add(time.Duration(r.Int64N(int64(10 * time.Minute)))); r.IntN(100) == 0 {
					at = at.Add(time.Duration(r.Int64N(int64(30 * time.Hour))))
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b entry) int { return a.seen.Compare(b.seen) })
	return all
}

// listed returns the objects as they are at a time; those of five days ago are gone. Sometimes a line is cut, as
// when its writer has not finished, and some objects have a copy. It adds the calls that can be seen to seen.
func listed(r *rand.Rand, all []entry, at time.Time, cut bool, seen map[string]bool) (files []convert.File) {
	objects := map[string]*strings.Builder{}
	last := map[string]entry{}
	for _, e := range all {
		hour, _ := time.Parse("logs/2006-01-02", path.Dir(e.object))
		if e.seen.After(at) || at.Sub(hour) > 5*24*time.Hour {
			continue
		}
		if objects[e.object] == nil {
			objects[e.object] = &strings.Builder{}
		}
		objects[e.object].WriteString(e.line)
		last[e.object] = e
	}
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		text := objects[name].String()
		if f := fnv.New32(); cut {
			f.Write([]byte(name))
			if e := last[name]; f.Sum32()%5 == 0 && at.Sub(e.seen) < 30*time.Minute {
				text = strings.TrimSuffix(text, e.line) + e.line[:len(e.line)/2]
			}
		}
		for line := range strings.Lines(text) {
			var l logged
			if json.Unmarshal([]byte(line), &l) == nil {
				seen[l.key()] = true
			}
		}
		files = append(files, logFile(name, text))
		if r.IntN(50) == 0 {
			files = append(files, logFile(strings.Replace(name, "logs", "copies", 1), text))
		}
	}
	slices.SortFunc(files, func(a, b convert.File) int { return strings.Compare(a.URI, b.URI) })
	return files
}

func logFile(name, text string) convert.File {
	f := fnv.New64()
	f.Write([]byte(text))
	return convert.File{Name: name, URI: name, Size: int64(len(text)), Version: fmt.Sprint(f.Sum64()),
		Open: func(context.Context) (convert.Content, error) { return content{strings.NewReader(text)}, nil }}
}

// key names a call, and whether it has an answer.
func (l *logged) key() string {
	if l.Answer == "" {
		return l.ID + " failed"
	}
	return l.ID
}

func nightly(root string, files []convert.File) convert.ImportOptions {
	o := options("", files...)
	o.Format, o.Root, o.Merge, o.New = logFormat, root, convert.MergeCalls, true
	o.Dataset = func(epoch int) string { return storage.Join(root, runroot.EpochFolder(epoch), "rollout") }
	o.Spill = stages.Spill{Memory: 64 << 20}
	return o
}

// found counts the calls in the datasets of a run and in what waits, and the rows by class of failure.
func found(t *testing.T, root string) (count map[string]int, classes map[string]int) {
	t.Helper()
	count, classes = map[string]int{}, map[string]int{}
	note := func(row *formats.Trajectory) {
		for _, m := range row.Messages {
			if id, is := strings.CutPrefix(m.Content, "answer "); is && m.Sampled {
				count[id]++
			}
		}
		for _, c := range row.Calls {
			if id, is := strings.CutPrefix(c.Error, "lost "); is {
				count[id+" failed"]++
			}
		}
	}
	b, err := storage.Open(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	epochs, err := runroot.Epochs(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	var sealed []watermark.Sealed
	for _, e := range epochs {
		d, err := dataset.Open(t.Context(), storage.Join(root, runroot.EpochFolder(e), "rollout"), dataset.OpenOptions{})
		if errors.Is(err, storage.ErrNotExist) {
			continue // of a process that died
		}
		if err != nil {
			t.Fatal(err)
		}
		sealed = append(sealed, watermark.Sealed{Epoch: e, State: d.Params["watermark"].(string)})
		for row, err := range dataset.Each[formats.Trajectory](t.Context(), d, "", d.All()) {
			if err != nil {
				t.Fatal(err)
			}
			note(row)
			classes[row.FailureClass]++
		}
	}
	run, err := runroot.Open(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	w, err := watermark.Open(t.Context(), watermark.Options{Root: root, Run: run.ID, Memory: 1 << 20, Log: slog.New(slog.DiscardHandler),
		Sealed: func(_ context.Context, after int) ([]watermark.Sealed, error) {
			return slices.DeleteFunc(sealed, func(s watermark.Sealed) bool { return s.Epoch <= after }), nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close(t.Context())
	for _, name := range w.Pending {
		data, err := w.Get(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		all, err := calls.DecodeFile(name, data)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range all {
			note(&c.Item.Row)
		}
	}
	return count, classes
}

// each checks that every call that was seen is there once. A try that failed may be there beside its answer, if
// the answer came in a later night, and need not be if there is an answer.
func each(t *testing.T, what string, seen map[string]bool, count map[string]int) {
	t.Helper()
	wrong := 0
	for key := range seen {
		id, failed := strings.CutSuffix(key, " failed")
		if n := count[key]; n != 1 && !(failed && n == 0 && count[id] == 1) {
			if wrong++; wrong < 5 {
				t.Errorf("%s: %s is there %d times", what, key, n)
			}
		}
	}
	for key := range count {
		if !seen[key] {
			t.Errorf("%s: %s was never seen", what, key)
		}
	}
}

// errDead is how a killed process ends, which makes no operation any more.
var errDead = errors.New("killed")

// killed returns a context in which a process dies before its n-th operation in a store.
func killed(ctx context.Context, n int) (context.Context, func() bool) {
	done := 0
	return storage.Wrapping(ctx, func(b *storage.Bucket) *storage.Bucket {
		return b.WithHook(func(string, string) error {
			if done++; done >= n {
				return errDead
			}
			return nil
		})
	}), func() bool { return done >= n }
}

// victim is the environment variable that makes this test binary a process which imports a night, and kills
// itself with SIGKILL before its n-th operation in a store.
const victim = "ROLLMILL_NIGHT_VICTIM"

func TestMain(m *testing.M) {
	n, err := strconv.Atoi(os.Getenv(victim))
	if err != nil {
		os.Exit(m.Run())
	}
	done := 0
	ctx := storage.Wrapping(context.Background(), func(b *storage.Bucket) *storage.Bucket {
		return b.WithHook(func(string, string) error {
			if done++; done >= n {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
			return nil
		})
	})
	var night int
	fmt.Sscan(os.Args[2], &night)
	if _, err := convert.Import(ctx, nightly(os.Args[1], killedNights[night])); err != nil {
		fmt.Println(err, fault.HintOf(err))
		os.Exit(1)
	}
	os.Exit(0)
}

// killedNights are nights with a growing log: with a dataset, with one and calls that wait, with nothing else than these.
var killedNights = func() (nights [3][]convert.File) {
	line := func(id string, minute int64, session string) string {
		b, _ := json.Marshal(logged{ID: id, At: minute * 60e6, Session: session, Prompt: []string{session}, Answer: "answer " + id})
		return string(b) + "\n"
	}
	text := ""
	for i, more := range []string{
		line("c1", 1, "a") + line("c2", 2, "b") + line("c3", 100, "c"),
		line("c4", 200, "d") + line("c5", 290, "e") + line("c6", 300, "f"),
		line("c7", 310, "g"),
	} {
		text += more
		nights[i] = []convert.File{logFile("a.jsonl", text)}
	}
	return nights
}()

// A process is killed with SIGKILL before each operation of each kind of night, and then runs again.
func TestKilledNights(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for night := range killedNights {
		for n := 1; ; n++ {
			if testing.Short() && n%15 != 4*night%15 {
				continue
			}
			root := t.TempDir()
			for before := range night {
				if _, err := convert.Import(t.Context(), nightly(root, killedNights[before])); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command(program, root, fmt.Sprint(night))
			cmd.Env = append(os.Environ(), fmt.Sprint(victim, "=", n))
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState.Exited() && err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if _, err := convert.Import(t.Context(), nightly(root, killedNights[night])); err != nil {
				t.Fatalf("night %d, killed at %d: %v", night+1, n, err)
			}
			count, _ := found(t, root)
			seen := map[string]bool{}
			for i := range []int{3, 6, 7}[night] {
				seen[fmt.Sprint("c", i+1)] = true
			}
			each(t, fmt.Sprintf("night %d, killed at %d", night+1, n), seen, count)
			if cmd.ProcessState.Exited() {
				if n < 20 {
					t.Errorf("night %d has %d operations", night+1, n)
				}
				break
			}
		}
	}
}

// bury removes the lease of a killed process, which another process of its machine sees to be gone.
func bury(t *testing.T, root string) {
	b, err := storage.Open(t.Context(), root)
	if err == nil {
		err = b.Delete(t.Context(), ".rollmill/import/lease.json")
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestThirtyNights simulates thirty nights of a log, and kills of the import at any of its operations. Of the log's
// calls each is there exactly once, whatever happened.
func TestThirtyNights(t *testing.T) {
	seeds, perDay := 2, 2
	if !testing.Short() {
		seeds, perDay = 8, 20
	}
	if n, err := strconv.Atoi(os.Getenv("COUNT")); err == nil {
		seeds = n
	}
	for seed := range seeds {
		root := fmt.Sprint("mem://thirty-nights-", seed)
		switch {
		case testing.Short():
		case seed%4 == 0:
			root = s3test.Start(t).URI("run")
		case seed%2 == 0:
			root = t.TempDir()
		}
		simulate(t, uint64(seed), perDay, []string{"", "session"}[seed%2], root)
	}
}

func simulate(t *testing.T, seed uint64, perDay int, by, root string) {
	r := rand.New(rand.NewPCG(seed, 7))
	all, seen := writeLog(r, perDay), map[string]bool{}
	kills, late, known, datasets := 0, int64(0), int64(0), 0
	var waited int64
	for night := range simulatedNights + 1 {
		at := time.Date(2026, 1, 2+night, 3, 0, 0, 0, time.UTC)
		files := listed(r, all, at, night < simulatedNights, seen)
		for alive := false; !alive; {
			o := nightly(root, slices.Clone(files))
			o.MergeBy, o.Flush = by, night == simulatedNights
			ctx, dead := t.Context(), func() bool { return false }
			if r.IntN(2) == 0 {
				ctx, dead = killed(ctx, 1+r.IntN(60))
			}
			report, err := convert.Import(ctx, o)
			if err != nil && !dead() {
				t.Fatalf("seed %d, night %d: %v (%s)", seed, night+1, err, fault.HintOf(err))
			}
			if err != nil {
				kills++
				bury(t, root)
				continue
			}
			alive = true
			late, known, waited = late+report.New.Late, known+report.New.Known, max(waited, report.New.Waiting)
			if report.URI != "" {
				datasets++
			}
		}
		if night%10 == 9 || night == simulatedNights {
			count, _ := found(t, root)
			each(t, fmt.Sprintf("seed %d, night %d", seed, night+1), seen, count)
		}
	}
	o := nightly(root, nil)
	o.MergeBy, o.Flush = by, true
	if report, err := convert.Import(t.Context(), o); err != nil || report.URI != "" || report.New.Waiting != 0 {
		t.Errorf("a night without anything new: %+v, %v", report.New, err)
	}
	_, classes := found(t, root)
	t.Logf("seed %d, by %q at %s: %d lines of %d calls, %d datasets, %d kills, %d known, %d late, at most %d waiting; rows %v", seed, by,
		strings.SplitN(root, ":", 2)[0], len(all), len(seen), datasets, kills, known, late, waited, classes)
	if kills == 0 || known == 0 || waited == 0 {
		t.Error("that is no simulation")
	}
}
