package validate

import (
	"encoding/json"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
)

// undefinedTool counts trajectories that call a tool which its request's definitions
// do not name. It remembers the names that sets of definitions have, since the rows
// of a file usually share a few sets.
type undefinedTool struct {
	Count
	known map[xxh3.Uint128][]string
}

// maxDefinitions is how many sets are remembered.
const maxDefinitions = 256

func newUndefinedTool() checker { return &undefinedTool{known: map[xxh3.Uint128][]string{}} }

func (c *undefinedTool) Row(r *Row) {
	t := r.wide()
	if t == nil {
		return
	}
	c.Of++
	for i := range t.Messages {
		m := &t.Messages[i]
		for k := range m.ToolCalls {
			if name := m.ToolCalls[k].Name; !c.defines(t, m, name) {
				c.Add(r, "", "message %d calls %s", i, name)
				return
			}
		}
	}
}

// defines reports whether a tool is among those that a message's request
// defined; true when it defined none, or they cannot be read.
func (c *undefinedTool) defines(t *formats.Trajectory, m *formats.Message, name string) bool {
	if !m.Sampled || m.Call < 0 || int(m.Call) >= len(t.Calls) {
		return true
	}
	n := t.Calls[m.Call].Tools
	if n < 0 || int(n) >= len(t.ToolSets) {
		return true
	}
	names := c.names(t.ToolSets[n])
	return names == nil || slices.Contains(names, name)
}

// names returns the names in a set: a JSON array of OpenAI's
// {"type":"function","function":{"name":...}} or only the inner objects. It
// returns nil when the set cannot be read.
func (c *undefinedTool) names(tools string) []string {
	key := xxh3.HashString128(tools)
	names, known := c.known[key]
	if known {
		return names
	}
	var list []struct {
		Name     string
		Function struct{ Name string }
	}
	if json.Unmarshal([]byte(tools), &list) == nil {
		names = []string{}
		for _, d := range list {
			if d.Function.Name != "" {
				d.Name = d.Function.Name
			}
			names = append(names, d.Name)
		}
	}
	if len(c.known) < maxDefinitions {
		c.known[key] = names
	}
	return names
}
