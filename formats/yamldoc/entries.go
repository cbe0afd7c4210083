package yamldoc

import "go.yaml.in/yaml/v4"

// Entry is a key of a mapping, a scalar, and its value.
type Entry struct{ Key, Value *yaml.Node }

// Entries returns the entries of a mapping in order, none of nil. Merge keys (<<) are
// applied; a duplicate key is an error.
func (f File) Entries(n *yaml.Node) ([]Entry, error) {
	if n == nil {
		return nil, nil
	}
	var own, merged []Entry
	seen := map[string]int{} // lines
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		line, again := seen[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode:
			return nil, f.Refuse(key, "write NAME: VALUE", "a key must be a word")
		case key.Tag == "!!merge":
			more, err := f.merge(value)
			if err != nil {
				return nil, err
			}
			merged = append(merged, more...)
		case again:
			return nil, f.Refuse(key, "remove one of them", "%q is already set on line %d", key.Value, line)
		default:
			seen[key.Value] = key.Line
			own = append(own, Entry{key, value})
		}
	}
	for _, p := range merged {
		if _, ok := seen[p.Key.Value]; !ok {
			seen[p.Key.Value] = p.Key.Line
			own = append(own, p)
		}
	}
	return own, nil
}

// merge returns the entries that a merge key adds: those of a mapping, or of a list
// of mappings, of which the first counts.
func (f File) merge(value *yaml.Node) (out []Entry, err error) {
	from := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		from = value.Content
	}
	for _, n := range from {
		if n.Kind != yaml.MappingNode {
			return nil, f.Refuse(n, "name an anchor of a mapping, as in <<: *NAME", "a merge key takes a mapping")
		}
		more, err := f.Entries(n)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}
