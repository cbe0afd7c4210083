package stages

import "github.com/rollmill/rollmill/formats/decision"

// Report describes what a stage did. With --json the command prints it.
type Report struct {
	Stage      string           `json:"stage"`
	URI        string           `json:"uri"`      // of the dataset or receipt written
	Identity   string           `json:"identity"` // of the dataset
	UpToDate   bool             `json:"up_to_date"`
	Sealed     bool             `json:"sealed"`            // false: other shards are still missing
	Missing    []int            `json:"missing,omitempty"` // their indexes
	Rows       int64            `json:"rows"`
	RowsDigest string           `json:"rows_digest,omitempty"`
	Counts     map[string]int64 `json:"counts,omitempty"` // rows by state
	Drops      map[string]int64 `json:"drops,omitempty"`  // rows by reason
	Failures   map[string]int64 `json:"failures,omitempty"`
	// the manifest's: sums over the rows, such as tokens; of submit, the trainer's metrics
	Facts   map[string]float64    `json:"facts,omitempty"`
	Funnel  []decision.FunnelStep `json:"funnel,omitempty"` // of curate, in the order of its rules
	Seconds float64               `json:"seconds"`
	Message string                `json:"message,omitempty"` // one line for people
}

// Count adds n to a state, drop or failure table that may be nil.
func Count(table *map[string]int64, key string, n int64) {
	if key == "" || n == 0 {
		return
	}
	if *table == nil {
		*table = map[string]int64{}
	}
	(*table)[key] += n
}
