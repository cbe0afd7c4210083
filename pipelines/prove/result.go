package prove

// Result is what was computed again.
type Result struct {
	URI    string   `json:"uri"`
	Equal  bool     `json:"equal"`  // something was computed again, and nothing of it differs
	Proofs []*Proof `json:"proofs"` // each after those that it was made from
}

// Proof is what was found of a dataset, a receipt or a file of a trainer.
type Proof struct {
	Name     string      `json:"name"` // relative to the result's URI
	Rows     int64       `json:"rows"`
	Differs  *Difference `json:"differs,omitempty"`  // the first
	Damage   string      `json:"damage,omitempty"`   // how the bytes are not those of its manifest
	Unproved string      `json:"unproved,omitempty"` // why it was not computed again
	Trained  string      `json:"trained,omitempty"`  // of a receipt: where, and in which steps
}

// Difference is a number that is not what follows from what it was made of.
type Difference struct {
	Row          int64  `json:"row"`
	TrajectoryID string `json:"trajectory_id,omitempty"`
	Column       string `json:"column"`
	Stored       any    `json:"stored"`
	Computed     any    `json:"computed"`
}

// computed returns how many of them were computed again.
func (r *Result) computed() (n int) {
	for _, p := range r.Proofs {
		if p.Unproved == "" && p.Damage == "" {
			n++
		}
	}
	return n
}

func (p *Proof) wrong() bool { return p.Differs != nil || p.Damage != "" }
