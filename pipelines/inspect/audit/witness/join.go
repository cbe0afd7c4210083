package witness

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/spill"
)

// What joins two rows, the strongest first: each level sees the rows that those before it left.
const (
	byID      = iota // both have an id
	byName           // the metadata of one name the id of the other
	byWhole          // all answers are the same
	byAnswers        // most answers that no other rows have
	byPrompt         // they are the only attempts at a prompt
)

// What stands for the partner of a row that has none.
const (
	nobody  = -1
	several = -2 // more than one row may be it
	twice   = -3 // more than one row has the id
)

// joiner finds which rows of two datasets are records of one attempt. It holds a few bytes of each in memory,
// and sorts digests of what may join them on disk.
type joiner struct {
	keys   *spill.Sorter
	fields [2]string  // that join rows; "" for whatever does
	with   [2][]int64 // by row: that of the other dataset, or what stands for it
	level  []byte     // of the first dataset's rows
	votes  map[[2]int64]int
}

// add adds the next row of a dataset.
func (j *joiner) add(side int, t *formats.Trajectory) (err error) {
	n := int64(len(j.with[side]))
	j.with[side] = append(j.with[side], nobody)
	key := func(level, own byte, h uint64) {
		if err == nil {
			err = j.keys.Add(binary.BigEndian.AppendUint64([]byte{level}, h), binary.AppendVarint([]byte{byte(side), own}, n))
		}
	}
	if name := j.fields[side]; name != "" {
		if id := field(t, name); id != "" {
			key(byID, 1, xxh3.HashString(id))
		}
		return err
	}
	for _, id := range []string{t.TrajectoryID, field(t, "metadata.source_id")} {
		if id != "" {
			key(byID, 1, xxh3.HashString(id))
			key(byName, 1, xxh3.HashString(id))
		}
	}
	metadata := []byte(t.Metadata)
	named := func(text string) { key(byName, 0, xxh3.HashString(text)) }
	eachText(metadata, named)
	for _, within := range jsontext.Members(metadata) {
		eachText(within, named)
	}
	prompt, until, whole := xxh3.New(), xxh3.New(), xxh3.New()
	said := 0
	for _, x := range itemsOf(t) {
		b := binary.BigEndian.AppendUint64(nil, x.key)
		switch {
		case x.sort == prompts && said == 0:
			_, _ = prompt.Write(b)
			_, _ = until.Write(b)
		case x.sort == answers || x.sort == prompts && x.Role == "assistant":
			said++
			_, _ = until.Write(b)
			_, _ = whole.Write(b)
			key(byAnswers, 1, until.Sum64())
			key(byAnswers, 1, x.key)
		}
	}
	key(byPrompt, 1, prompt.Sum64())
	if said > 0 {
		key(byWhole, 1, whole.Sum64())
	}
	return err
}

// eachText calls f with the texts of an object's members that may be ids.
func eachText(metadata []byte, f func(string)) {
	const shortest, longest = 8, 128
	for _, v := range jsontext.Members(metadata) {
		if v[0] == '"' && shortest+2 <= len(v) && len(v) <= longest+2 {
			f(jsontext.Unquote(v))
		}
	}
}

// field returns a field of a row as text: an id, or a member of the example or the metadata; "" for none.
func field(t *formats.Trajectory, name string) string {
	path := strings.Split(name, ".")
	raw := []byte(map[string]string{"metadata": t.Metadata, "example": t.Example}[path[0]])
	if len(path) == 1 {
		return map[string]string{"trajectory_id": t.TrajectoryID, "example_id": t.ExampleID}[name]
	}
	for _, key := range path[1:] {
		raw = jsontext.ParseObject(raw).Get(key)
	}
	if text := jsontext.AnyText(raw); text != "" && text != "null" && text[0] != '{' && text[0] != '[' {
		return text
	}
	return ""
}

// join joins the rows that were added, and then marks those that are left and for which several are.
func (j *joiner) join() error {
	for _, run := range []func(byte, [2][]int64, bool){j.vote, j.left} {
		var key []byte
		var rows [2][]int64
		own := false
		end := func(next byte) {
			if len(key) == 0 {
				return
			}
			left, alone := j.free(rows)
			if alone || key[0] != byPrompt || len(left[0])+len(left[1]) > 2 {
				run(key[0], left, own)
			}
			if key[0] != next {
				j.resolve(key[0])
			}
		}
		for r, err := range j.keys.Sorted() {
			if err != nil {
				return err
			}
			if string(key) != string(r.Key) {
				end(r.Key[0])
				key, rows, own = append(key[:0], r.Key...), [2][]int64{rows[0][:0], rows[1][:0]}, false
			}
			n, _ := binary.Varint(r.Value[2:])
			rows[r.Value[0]], own = append(rows[r.Value[0]], n), own || r.Value[1] == 1
		}
		end(byPrompt + 1)
	}
	return nil
}

// free returns the rows of a key that are joined with none, and whether one row of each dataset has it.
func (j *joiner) free(rows [2][]int64) (left [2][]int64, alone bool) {
	for side, list := range rows {
		slices.Sort(list)
		rows[side] = slices.Compact(list)
	}
	alone = len(rows[0]) == 1 && len(rows[1]) == 1
	for side, list := range rows {
		left[side] = slices.DeleteFunc(list, func(n int64) bool { return j.with[side][n] >= 0 || j.with[side][n] == twice })
	}
	return left, alone
}

// vote sees the rows of a key that are left, and whether it is an own id or what a row says.
func (j *joiner) vote(level byte, rows [2][]int64, own bool) {
	switch a, b := rows[0], rows[1]; {
	case len(a) == 0 || len(b) == 0 || !own:
	case len(a) == 1 && len(b) == 1:
		j.votes[[2]int64{a[0], b[0]}]++
	case level == byID:
		j.mark(rows, twice)
	}
}

// left is vote once all others are joined.
func (j *joiner) left(level byte, rows [2][]int64, own bool) {
	if len(rows[0]) > 0 && len(rows[1]) > 0 && len(rows[0])+len(rows[1]) > 2 && own && level != byAnswers {
		j.mark(rows, several)
	}
}

func (j *joiner) mark(rows [2][]int64, as int64) {
	for side, list := range rows {
		for _, n := range list {
			j.with[side][n] = as
		}
	}
}

// choice is the partner that most keys of a row name.
type choice struct {
	row  int64
	n    int
	tied bool
}

// resolve joins the rows that are each other's only choice, or of answers their first.
func (j *joiner) resolve(level byte) {
	best := [2]map[int64]choice{{}, {}}
	for pair, n := range j.votes {
		for side := range best {
			v, known := best[side][pair[side]]
			switch {
			case !known || level == byAnswers && n > v.n:
				v = choice{row: pair[1-side], n: n}
			case level != byAnswers || n == v.n:
				v.tied = true
			}
			best[side][pair[side]] = v
		}
	}
	for a, v := range best[0] {
		if w := best[1][v.row]; w.row == a && !v.tied && !w.tied {
			j.with[0][a], j.with[1][v.row], j.level[a] = v.row, a, level
		}
	}
	clear(j.votes)
}
