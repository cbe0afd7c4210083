package formats

// Planned is a row of _plan: an example that should get more generations, and
// the statistics of its group in curate.
type Planned struct {
	Carried

	ExampleID   string   `parquet:"example_id"`
	GroupID     string   `parquet:"group_id"`
	Epoch       int32    `parquet:"epoch,delta"`
	Generations int32    `parquet:"generations,delta"`
	First       int32    `parquet:"first_generation,delta"`
	Reason      string   `parquet:"reason,dict"`
	Count       int32    `parquet:"count,delta"`
	Valid       int32    `parquet:"valid,delta"`
	Failed      int32    `parquet:"failed,delta"`
	Solved      *float64 `parquet:"solved,optional"`
	StdPop      *float64 `parquet:"std_pop,optional"`
}

// PlanReasons is the closed list of reasons for which an example should get
// more generations (column reason of _plan), the most urgent first.
var PlanReasons = []string{PlanFailed, PlanFew, PlanFlat, PlanVaried}

const (
	PlanFailed = "failed" // members failed or were skipped: replacements
	PlanFew    = "few"    // fewer were made than a group should have
	PlanFlat   = "flat"   // all rewards are equal, but not because all members solved it
	PlanVaried = "varied" // the rewards differ much, and the budget has room
)
