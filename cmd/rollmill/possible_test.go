package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/validate"
)

// TestPossibleIsWritten holds the tables of import, audit, export and submit together over
// random rows: what import says that a use is possible for, its files have, and no other
// row; what audit and submit count of a finding is what import counts. COUNT is how many
// batches it makes, 3 in a short run.
func TestPossibleIsWritten(t *testing.T) {
	first, count := 0, 6
	if testing.Short() {
		first, count = 2, 3 // which write and block every use
	}
	if n, err := strconv.Atoi(os.Getenv("COUNT")); err == nil {
		first, count = 0, n
	}
	seen := map[string]int{}
	for seed := uint64(first); seed < uint64(first+count); seed++ {
		dir := t.TempDir()
		if batch := (&possible{T: t, rnd: rand.New(rand.NewPCG(seed, 48)), dir: dir, seen: seen, clean: seed%2 == 0}); !batch.check() {
			t.Fatalf("seed %d: %s", seed, dir)
		}
		os.RemoveAll(dir)
	}
	t.Log(seen)
	if seen["submit 0"] == 0 || seen["submit 4"] == 0 {
		t.Errorf("submit never takes, or never refuses: %v", seen)
	}
	for _, use := range []string{"sft", "kto", "dpo", "tokens"} {
		if seen[use+" written"] == 0 || seen[use+" blocked"] == 0 {
			t.Errorf("%s: %d written, %d blocked", use, seen[use+" written"], seen[use+" blocked"])
		}
	}
}

// reasonCount is a reason and how many rows it left out, as in "equal rewards (tie 3)".
var reasonCount = regexp.MustCompile(`(\w+) (\d+)`)

// possible is one batch of groups, a file each.
type possible struct {
	*testing.T
	rnd  *rand.Rand
	dir  string
	seen map[string]int

	clean bool // nothing for which submit refuses the batch
}

// wrong returns a fault for which submit refuses the batch.
func (b *possible) wrong(text string) string {
	if b.clean {
		return ""
	}
	return text
}

func (b *possible) one(of ...string) string { return of[b.rnd.IntN(len(of))] }

// sometimes returns a text, often "".
func (b *possible) sometimes(text string) string {
	if b.rnd.IntN(6) > 0 {
		return ""
	}
	return text
}

// row returns a row of the group: most are sound, some have a fault or several.
func (b *possible) row(group, n int) string {
	images := b.sometimes(`,"images":["a.png"]`)
	ask := fmt.Sprintf(`{"role":"user","content":"%s"%s}`, b.one("why", "why", "why", "how"), b.sometimes(b.one(`,"name":"ann"`,
		`,"tool_calls":[{"id":"u","type":"function","function":{"name":"f","arguments":"{}"}}]`)))
	if b.sometimes("x") != "" {
		ask = b.one(`{"role":"user","content":[{"type":"text","text":"why"},{"type":"text","text":"now"}]}`,
			`{"role":"user","content":[{"type":"text","text":"why"},{"type":"image_url","image_url":{"url":"a.png"}}]}`)
	}
	messages := []string{ask}
	for turn := range 1 + b.rnd.IntN(5)/3 {
		if turn > 0 {
			messages = append(messages, `{"role":"user","content":"and"}`)
		}
		tokens := b.one(`,"token_ids":[3,4],"logprobs":[-0.5,-0.25]`, `,"token_ids":[3],"logprobs":[-0.5]`, "",
			`,"token_ids":[3,4]`, b.wrong(`,"token_ids":[3],"logprobs":[-9999]`))
		if tokens != "" {
			tokens += b.one(`,"prompt_delta_ids":[1,2]`, `,"prompt_delta_ids":[1,2]`, `,"prompt_delta_ids":[1,2]`, "")
		}
		extra := tokens + b.sometimes(b.one(`,"reasoning":"hm"`, `,"weight":0`, `,"weight":0.5`, `,"step_loss_mask":0`, b.wrong(`,"my_train_flag":false`),
			b.wrong(`,"thoughts":{"a":1}`)))
		switch b.rnd.IntN(8) {
		case 0:
			arguments := b.one(`"{\"a\":1}"`, `"{\"a\":1}"`, `"not json"`, `"{\"a\":0.70000000000001}"`)
			id := "c"
			if b.sometimes("x") != "" {
				id = b.wrong("other")
			}
			messages = append(messages, fmt.Sprintf(`{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"f"%s}}]%s}`,
				b.argument(arguments), extra))
			if b.rnd.IntN(3) > 0 {
				messages = append(messages, fmt.Sprintf(`{"role":"tool","content":"%s","tool_call_id":"%s"}`, b.one("1", "2"), cmp.Or(id, "c")))
			}
		case 1:
			messages = append(messages, fmt.Sprintf(`{"role":"assistant","content":"%s"%s}`, b.one("", "<img>"), extra))
		default:
			messages = append(messages, fmt.Sprintf(`{"role":"assistant","content":"%s"%s}`, b.one("yes", "no", "perhaps"), extra))
		}
	}
	return fmt.Sprintf(`{"trajectory_id":"g%d-%d","example_id":"g%d","token_source":"choice.token_ids","messages":[%s],"tools":[{"type":"function","function":{"name":"f"}}],"reward":%s%s%s}`,
		group, n, group, strings.Join(messages, ","), b.one("0", "1", "0.5", "null", "1"), images,
		b.sometimes(b.one(b.wrong(`,"past_dialog":[["a","b"]]`), `,"prompt":"why"`, b.wrong(`,"turn_weights":[1,0]`))))
}

// argument returns the member of a call, which a fault may lack.
func (b *possible) argument(v string) string {
	if v == "" {
		v = `"{}"`
	}
	return b.one(`,"arguments":`+v, `,"arguments":`+v, cmp.Or(b.wrong(`,"payload":1`), `,"arguments":"{}"`))
}

// lint is what import --check says of a file's rows, or of a folder's.
type lint struct {
	Rows int
	Uses []struct {
		Use      string
		Possible int
		Because  []struct{ Finding string }
	}
	Findings []struct {
		Name, Severity, Of string
		Count              int64
	}
}

func (b *possible) lint(in string) lint {
	_, text, stderr := rollmill(b.T, "import", "--check", "--json", "--from", "rows", "--in", in)
	var report struct{ Lint lint }
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		b.Fatal(err, text, stderr)
	}
	return report.Lint
}

func (b *possible) check() bool {
	in := filepath.Join(b.dir, "in")
	os.Mkdir(in, 0o777)
	for group := range 12 {
		var rows strings.Builder
		for n := range 1 + b.rnd.IntN(4) {
			rows.WriteString(b.row(group, n) + "\n")
		}
		os.WriteFile(filepath.Join(in, fmt.Sprintf("g%d.jsonl", group)), []byte(rows.String()), 0o666)
	}
	base := b.dir + "/base"
	must(b.T, "import", "--out", base, "--from", "rows", "--in", in)
	counts := map[string]int64{}
	for _, f := range b.lint(in).Findings {
		if f.Of == "rows" {
			counts[f.Name] = f.Count
		}
	}
	written, skipped := b.written(base)
	ok, missing := b.audited(base, counts) && b.submitted(base, counts, written), map[string]int{}
	for i := range 12 {
		group := fmt.Sprintf("g%d", i)
		f := b.lint(filepath.Join(in, group+".jsonl"))
		for _, u := range f.Uses {
			has, of := written[u.Use]
			if !of {
				continue
			}
			got := len(has[group])
			b.seen[u.Use+" written"] += got
			b.seen[u.Use+" blocked"] += f.Rows - u.Possible
			why := ""
			for _, r := range u.Because {
				why += " " + r.Finding
			}
			missing[u.Use] += u.Possible - got
			if got > u.Possible || missing[u.Use] > excused(u.Use, skipped) {
				b.Errorf("%s of %s: possible for %d, %d of %d are written: %v; blocked by%s; left out: %v", u.Use, group, u.Possible, got, f.Rows,
					slices.Sorted(maps.Keys(has[group])), why, skipped[u.Use])
				rows, _ := os.ReadFile(filepath.Join(in, group+".jsonl"))
				b.Log(string(rows))
				ok = false
			}
		}
	}
	return ok
}

// excused returns how many rows the format of a use left out for a reason of its own
// form, or of what a pair can be made of, which the table does not have.
func excused(use string, skipped map[string]map[string]int) (n int) {
	for _, reason := range map[string][]string{"sft": {"arguments", "numbers"}, "kto": {"arguments", "numbers", "tie"},
		"dpo": {"arguments", "numbers", "turns", "prompts"}}[use] {
		n += skipped[use][reason]
	}
	if skipped[use]["one_kind"] == 3 { // of the imported rows and of both groupings
		return math.MaxInt
	}
	return n
}

// written returns the trajectories that the files of each use have, by example, and the
// reasons for those that they do not have.
func (b *possible) written(base string) (written map[string]map[string]map[string]bool, skipped map[string]map[string]int) {
	examples := map[string]string{}
	for _, row := range trajectoriesAt(b.T, base) {
		examples[row.TrajectoryID] = row.ExampleID
	}
	groups := map[string]string{"": base}
	for _, at := range []string{"whole", "first-difference"} {
		groups[at] = b.dir + "/" + at
		must(b.T, "group", "--in", base, "--out", groups[at], "--pairs", "exhaustive", "--pair-at", at, "--labels", "--accept-finding", "prefix_rows")
	}
	written, skipped = map[string]map[string]map[string]bool{}, map[string]map[string]int{}
	for use, format := range map[string]string{"sft": "trl-sft.jsonl", "kto": "trl-kto.jsonl", "dpo": "trl-preference.jsonl", "tokens": "sequences.jsonl"} {
		written[use], skipped[use] = map[string]map[string]bool{}, map[string]int{}
		for name, from := range groups {
			out := fmt.Sprintf("%s/%s-%s.jsonl", b.dir, use, name)
			_, text, stderr := rollmill(b.T, "export", "--in", from, "--to", format, "--best", "-1", "--out", out, "--json")
			var report struct {
				Files []struct{ Skipped map[string]int }
			}
			if json.Unmarshal([]byte(text), &report) != nil || len(report.Files) == 0 {
				if strings.Contains(stderr, "KTO needs good and bad answers") { // the whole file is refused
					skipped[use]["one_kind"]++
					continue
				}
				_, reasons, none := strings.Cut(stderr, "would have no row: ")
				if !none {
					b.Fatal(stderr)
				}
				for _, part := range reasonCount.FindAllStringSubmatch(reasons, -1) {
					n, _ := strconv.Atoi(part[2])
					skipped[use][part[1]] += n
				}
				continue
			}
			for reason, n := range report.Files[0].Skipped {
				skipped[use][reason] += n
			}
			data, _ := os.ReadFile(out)
			for line := range strings.Lines(string(data)) {
				var row struct {
					TrajectoryID string `json:"trajectory_id"`
					ChosenID     string `json:"chosen_id"`
					RejectedID   string `json:"rejected_id"`
				}
				if err := json.Unmarshal([]byte(line), &row); err != nil {
					b.Fatal(err)
				}
				for _, id := range []string{row.TrajectoryID, row.ChosenID, row.RejectedID} {
					if id == "" {
						continue
					}
					if written[use][examples[id]] == nil {
						written[use][examples[id]] = map[string]bool{}
					}
					written[use][examples[id]][id] = true
				}
			}
		}
	}
	return written, skipped
}

// audited compares the counts of audit's findings.
func (b *possible) audited(base string, counts map[string]int64) bool {
	_, text, stderr := rollmill(b.T, "audit", base, "--json")
	var audit struct {
		Findings []struct {
			Check string
			Count int64
		}
	}
	if err := json.Unmarshal([]byte(text), &audit); err != nil {
		b.Fatal(err, stderr)
	}
	ok, got := true, map[string]int64{}
	for _, f := range audit.Findings {
		if got[f.Check] = f.Count; f.Check == "logprob_floors" {
			got[f.Check] = min(f.Count, counts[f.Check]) // it counts answers, import rows
		}
	}
	for _, c := range validate.In(validate.Import) {
		if c.In&validate.Audit != 0 && c.Sees == validate.OneRow && c.Share == 0 && got[c.Name] != counts[c.Name] {
			b.Errorf("%s: import %d, audit %d", c.Name, counts[c.Name], got[c.Name])
			ok = false
		}
	}
	return ok
}

// submitted compares submit: it refuses the batch for what import found, or takes as many
// rows as export.
func (b *possible) submitted(base string, counts map[string]int64, written map[string]map[string]map[string]bool) bool {
	args := []string{"submit", "--in", base, "--out", b.dir + "/submit", "--backend", "file", "--kinds", "trl-sft", "--kinds", "sequences", "--best", "-1", "--dry-run", "--json"}
	code, text, stderr := rollmill(b.T, args...)
	wrong := false
	for _, c := range validate.In(validate.Import) {
		if c.In&validate.Submit != 0 && c.Sees == validate.OneRow && c.Severity == validate.Error {
			refuses := strings.Contains(stderr, c.Name+" (proved): ")
			if wrong = wrong || refuses != (counts[c.Name] > 0); refuses != (counts[c.Name] > 0) {
				b.Errorf("%s: import %d; submit, code %d: %s", c.Name, counts[c.Name], code, stderr)
			}
		}
	}
	b.seen[fmt.Sprint("submit ", code)]++
	var report struct {
		Load struct {
			Files []struct {
				Name string
				Rows int
			}
		}
	}
	if code != 0 {
		return !wrong
	}
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		b.Fatal(err)
	}
	for _, f := range report.Load.Files {
		want := 0
		for _, ids := range written[map[string]string{"trl-sft.jsonl": "sft", "sequences.parquet": "tokens"}[f.Name]] {
			want += len(ids)
		}
		if f.Rows != want {
			b.Errorf("submit gives %s %d rows, export %d", f.Name, f.Rows, want)
			wrong = true
		}
	}
	return !wrong
}
