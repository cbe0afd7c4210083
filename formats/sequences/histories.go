package sequences

import "github.com/rollmill/rollmill/formats"

// History is a path through a trajectory's tree on which something trains.
type History struct {
	Path   []int // indexes of messages, from the root to the leaf
	Trains []int // those that train in this history, in order; never empty
}

// Histories returns the histories of a trajectory. Each message that trains is in
// Trains of exactly one.
func Histories(t *formats.Trajectory) []History {
	taken := make([]bool, len(t.Messages))
	var out []History
	add := func(path []int) {
		h := History{Path: path}
		for _, i := range path {
			if !taken[i] && t.Trained(i) {
				taken[i] = true
				h.Trains = append(h.Trains, i)
			}
		}
		if h.Trains != nil {
			out = append(out, h)
		}
	}
	main := t.Main()
	add(main)
	for _, leaf := range t.Leaves() {
		if len(main) == 0 || leaf != main[len(main)-1] {
			add(t.Path(leaf))
		}
	}
	return out
}
