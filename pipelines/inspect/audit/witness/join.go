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

// join joins the rows that were added.
func (j *joiner) join() error {
	var key []byte
	var rows [2][]int64
	own := false
	for r, err := range j.keys.Sorted() {
		if err != nil {
			return err
		}
		if string(key) != string(r.Key) {
			j.run(key, rows, own)
			if len(key) > 0 && key[0] != r.Key[0] {
				j.resolve(key[0])
			}
			key, rows, own = append(key[:0], r.Key...), [2][]int64{rows[0][:0], rows[1][:0]}, false
		}
		side := r.Value[0]
		n, _ := binary.Varint(r.Value[2:])
		rows[side], own = append(rows[side], n), own || r.Value[1] == 1
	}
	if j.run(key, rows, own); len(key) > 0 {
		j.resolve(key[0])
	}
	return nil
}

// run sees all rows that have a key. Those of one prompt are joined if no other row has it.
func (j *joiner) run(key []byte, rows [2][]int64, own bool) {
	alone := true
	for side, list := range rows {
		slices.Sort(list)
		list = slices.Compact(list)
		alone = alone && len(list) == 1
		rows[side] = slices.DeleteFunc(list, func(n int64) bool { return j.with[side][n] >= 0 })
	}
	switch a, b := rows[0], rows[1]; {
	case len(a) == 0 || len(b) == 0 || !own:
	case len(a) == 1 && len(b) == 1:
		if alone || key[0] != byPrompt {
			j.votes[[2]int64{a[0], b[0]}]++
		}
	case key[0] != byAnswers:
		j.unsure(rows)
	}
}

// unsure marks rows that several may be joined with.
func (j *joiner) unsure(rows [2][]int64) {
	for side, list := range rows {
		for _, n := range list {
			if j.with[side][n] == nobody {
				j.with[side][n] = several
			}
		}
	}
}

// vote is the partner that most keys of a row name.
type vote struct {
	row  int64
	n    int
	tied bool
}

// resolve joins the rows that are each other's only choice, or of answers their first.
func (j *joiner) resolve(level byte) {
	best := [2]map[int64]vote{{}, {}}
	for pair, n := range j.votes {
		for side := range best {
			v, known := best[side][pair[side]]
			switch {
			case !known || level == byAnswers && n > v.n:
				v = vote{row: pair[1-side], n: n}
			case level != byAnswers || n == v.n:
				v.tied = true
			}
			best[side][pair[side]] = v
		}
	}
	for a, v := range best[0] {
		if w := best[1][v.row]; w.row != a || v.tied || w.tied {
			j.unsure([2][]int64{{a}, {v.row}})
		} else {
			j.with[0][a], j.with[1][v.row], j.level[a] = v.row, a, level
		}
	}
	clear(j.votes)
}
