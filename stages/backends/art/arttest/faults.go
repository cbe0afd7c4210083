package arttest

// Dialect is the set of routes and types, by the age of the server.
type Dialect string

const (
	V03      Dialect = "0.3" // no additional histories
	Legacy   Dialect = "0.4" // the one to train on
	V05      Dialect = "0.5" // legacy routes, but a choice arrives as a plain object
	Frontend Dialect = "0.5.17"
	Later    Dialect = "0.5.18" // cannot be told to train
)

// Faults are the misbehaviours. The zero value has none.
type Faults struct {
	NoOpenAPI   bool   // the route list is switched off
	PrepareHost string // host in the answer of prepare; default 0.0.0.0, as the server's
	BareNames   bool   // a frontend server's inference takes the bare model name, as up to 0.5.9
	NewPort     bool   // each prepare starts another inference server, and ends the one before

	StepsKey      string // default num_gradient_steps
	NaN           bool   // a line's loss is NaN
	LongLine      bool   // a line of 200 kB
	LinesMissing  int    // so many lines less than announced, with a clean end
	CloseAfter    *int   // break off after k lines, without the last chunk
	CloseBefore   bool   // take the batch, train, and drop the connection without an answer
	CloseSaved    bool   // break off after all lines, the checkpoint saved
	CloseUnsaved  bool   // break off after all lines, no checkpoint saved
	Untrainable   bool   // find nothing to train on
	StayUntrained bool   // and do not advance the step then, as 0.3
	StepStays     bool   // train, and do not advance the step
	StepJumps     bool   // advance the step by two
	TrainStatus   int    // answer the batch with this status, before training
	StatusAfter   int    // train, then answer with this status
	// the answer ends early, as by a gateway, and the server trains on: the step advances when it is asked for this often
	TrainsOn  int
	AwayAfter bool               // answer nothing but 503 after the first batch
	Proxy     bool               // such an answer is a proxy's, in its own words
	Atomic    bool               // be a server that trains atomically and says so
	Discard   bool               // count a batch's bytes and look at none of them
	Hold      <-chan struct{}    // wait before the first line
	Received  func(token string) // called when a batch has arrived whole
}
