package chat

import "github.com/rollmill/rollmill/formats/foreign/importers"

// single makes the item of a row that has one trajectory.
func (r *row) single(c *Reader) []importers.Item {
	items := make([]importers.Item, 1)
	x := &items[0]
	x.Row.TrajectoryID = r.id(id)
	r.setTokens(c, &x.Row)
	r.setRewards(x)
	r.setLog(x)
	c.Into(&x.Row)
	r.finish(x, c)
	return items
}

// finish sets what the items of a row have in common. It is last, since
// metadata is what nothing has read.
func (r *row) finish(x *importers.Item, c *Reader) {
	x.Row.ExampleID = r.id(exampleID)
	x.NumberID = x.Row.ExampleID != "" && r.columns[exampleID].value[0] != '"'
	x.Row.Example = r.example()
	if len(c.Calls) == 0 { // they have no place: they belong to calls
		for _, f := range []field{model, policyVersion, parallelToolCalls} {
			r.columns[f].read = false
		}
	}
	m := r.metadata()
	c.OtherInto(&m)
	x.Row.Metadata = m.String()
}
