package witness

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/spill"
	"github.com/rollmill/rollmill/storage/fault"
)

// What joins two rows, the strongest first: each level sees the rows that those before it left.
const (
	byID      = iota // both have an id
	byName           // the metadata of the second names the id of the first
	byNamed          // the metadata of the first names the id of the second
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
	keys  *spill.Sorter
	with  [2][]int64 // by row: that of the other dataset, or what stands for it
	level []byte     // of the first dataset's rows
	votes map[[2]int64]int
}

// joined reads what joins the rows of both datasets.
func joined(ctx context.Context, o Options) (*joiner, error) {
	j := &joiner{keys: spill.New("", o.Memory), votes: map[[2]int64]int{}, level: make([]byte, o.In.Rows)}
	defer j.keys.Close()
	own, other, two := strings.Cut(o.Join, "=")
	if !two {
		other = own
	}
	for side, name := range [2]string{own, other} {
		d, has := [2]*dataset.Dataset{o.In, o.Against}[side], false
		err := each(ctx, d, columns[:len(columns)-2], func(r *row) error {
			has = has || field(&r.Trajectory, name) != ""
			return j.add(side, r, name)
		})
		if err == nil && o.Join != "" && !has {
			err = fault.Errorf(fault.Usage, "--join takes trajectory_id, example_id, or a member such as metadata.session_id",
				"no row of %q has %s", d.URI(), name)
		}
		if err != nil {
			return nil, err
		}
	}
	return j, j.join()
}

// add adds the next row of a dataset, and the field that is to join it; "" for whatever does.
func (j *joiner) add(side int, r *row, name string) (err error) {
	j.with[side] = append(j.with[side], nobody)
	add := func(level int, h uint64) {
		if err == nil {
			err = j.keys.Add(binary.BigEndian.AppendUint64([]byte{byte(level)}, h), binary.AppendVarint([]byte{byte(side)}, r.Number))
		}
	}
	ids := []string{name}
	if name == "" {
		ids = []string{"trajectory_id", "metadata.source_id"}
	}
	for _, name := range ids {
		if id := field(&r.Trajectory, name); id != "" {
			add(byID, xxh3.HashString(id))
			add(byName+side, xxh3.HashString(id))
		}
	}
	if name != "" {
		return err
	}
	eachID([]byte(r.Metadata), 2, func(id string) { add(byNamed-side, xxh3.HashString(id)) })
	var prompt, said uint64
	for _, x := range itemsOf(&r.Trajectory) {
		const spread = 0x9e3779b97f4a7c15
		switch {
		case x.sort == prompts && x.Role != "assistant" && said == 0:
			prompt = (prompt + x.key) * spread
		case x.sort == answers || x.sort == prompts && x.Role == "assistant":
			said = (said + x.key) * spread
			add(byAnswers, x.key)
			add(byAnswers, prompt+said)
		}
	}
	if said != 0 {
		add(byWhole, said)
	}
	add(byPrompt, prompt)
	return err
}

// eachID calls f with what may be an id of an object's members and, with levels, of their members.
func eachID(object []byte, levels int, f func(string)) {
	for _, v := range jsontext.Members(object) {
		if id := value.ID(v); 8 <= len(id) && len(id) <= 128 {
			f(id)
		} else if levels > 1 {
			eachID(v, levels-1, f)
		}
	}
}

// field returns a field of a row: an id, or a member of the example or the metadata; "" for none.
func field(t *formats.Trajectory, name string) string {
	switch name {
	case "trajectory_id":
		return t.TrajectoryID
	case "example_id":
		return t.ExampleID
	}
	root, path, _ := strings.Cut(name, ".")
	raw := []byte(map[string]string{"metadata": t.Metadata, "example": t.Example}[root])
	for _, key := range strings.Split(path, ".") {
		raw = jsontext.ParseObject(raw).Get(key)
	}
	return value.ID(raw)
}

// join joins the rows that were added, and then marks those that are left and for which several are.
func (j *joiner) join() error {
	for _, last := range []bool{false, true} {
		var key []byte
		var rows [2][]int64
		for r, err := range j.keys.Sorted() {
			if err != nil {
				return err
			}
			if string(key) != string(r.Key) {
				j.see(key, rows, last)
				if len(key) > 0 && key[0] != r.Key[0] {
					j.resolve(key[0])
				}
				key, rows = append(key[:0], r.Key...), [2][]int64{rows[0][:0], rows[1][:0]}
			}
			n, _ := binary.Varint(r.Value[1:])
			rows[r.Value[0]] = append(rows[r.Value[0]], n)
		}
		j.see(key, rows, last)
		j.resolve(key[0])
	}
	return nil
}

// see sees the rows of a key. One of each dataset that is left is a vote; in the end, more are several.
func (j *joiner) see(key []byte, rows [2][]int64, last bool) {
	var all, left [2]int
	for side, list := range rows {
		slices.Sort(list)
		rows[side] = slices.Compact(list)
		all[side] = len(rows[side])
		rows[side] = slices.DeleteFunc(rows[side], func(n int64) bool { return j.with[side][n] >= 0 })
		left[side] = len(rows[side])
	}
	one := [2]int{1, 1}
	switch {
	case left[0] == 0 || left[1] == 0:
	case left == one && !last && (all == one || key[0] != byPrompt):
		j.votes[[2]int64{rows[0][0], rows[1][0]}]++
	case left != one && last && key[0] != byAnswers:
		for side, list := range rows {
			for _, n := range list {
				j.with[side][n] = several
			}
		}
	}
}

// resolve joins the rows that are each other's only choice, or of answers their first.
func (j *joiner) resolve(level byte) {
	type choice struct {
		row  int64
		n    int
		tied bool
	}
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
