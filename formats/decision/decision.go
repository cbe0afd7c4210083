package decision

// Decision is a row of _decisions: what curate did with one input trajectory.
type Decision struct {
	TrajectoryID string `parquet:"trajectory_id"`
	ExampleID    string `parquet:"example_id,dict"`
	GroupID      string `parquet:"group_id,dict"`
	Epoch        int32  `parquet:"epoch,delta"`
	Generation   int32  `parquet:"generation,delta"`
	Kept         bool   `parquet:"kept"`
	Reason       string `parquet:"reason,optional,dict"` // the first rule that refused it; null when kept
	Detail       string `parquet:"detail,optional"`
}
