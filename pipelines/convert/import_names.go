package convert

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// final reports whether the rows of a group keep their ids.
func (o *ImportOptions) final(group []*row) bool {
	if !group[0].Final || o.GroupBy != GroupByID || o.Groups != nil {
		return false
	}
	seen := map[int32]bool{}
	for _, r := range group {
		if !r.Final || seen[r.Row.Generation] {
			return false
		}
		seen[r.Row.Generation] = true
	}
	return true
}

// name sets the ids of a row, the generation-th of its group. copy counts the
// rows of the group with the same id or content before it.
func name(o *ImportOptions, r *row, generation, copy int) {
	t := &r.Row
	t.Run, t.Generation = o.Run, int32(generation)
	if r.Final {
		withSource(t)
	}
	t.TrajectoryID = formats.StoredID(t.ExampleID, int(t.Epoch), r.own, copy)
}

// withSource adds the source's id to the metadata, unless they have one.
func withSource(t *formats.Trajectory) {
	if t.TrajectoryID == "" {
		return
	}
	const key = `{"source_id":`
	b := append(make([]byte, 0, len(key)+len(t.TrajectoryID)+len(`"",`)+len(t.Metadata)), key...)
	b = jsontext.AppendString(b, t.TrajectoryID)
	for k, v := range jsontext.Members([]byte(t.Metadata)) {
		if string(k) == "source_id" {
			if string(v) != "null" {
				return
			}
			continue
		}
		b = append(append(jsontext.AppendString(append(b, ','), string(k)), ':'), v...)
	}
	t.Metadata = string(append(b, '}'))
}
